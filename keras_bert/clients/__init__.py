"""What an app or a page takes along: tokenizers to copy, and a page that runs a model where it is opened."""
