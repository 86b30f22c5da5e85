"""The kinds of artifacts, one a file: a new one changes the key of no step that does not read it."""
