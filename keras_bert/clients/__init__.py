"""Files for apps: tokenizers to copy, golden outputs to test against, and a page that runs a model in the browser."""
