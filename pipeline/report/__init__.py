"""A page about one run, complete in one file: content, then pictures, then HTML."""
