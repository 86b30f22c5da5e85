"""Documents -> a clean corpus: rules, duplicates, sentences, shards, and its words counted."""
