"""The rules for the contents of exported files: each rule is a function that yields its violations."""
