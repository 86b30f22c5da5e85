"""The rules for exported files, apart from their outputs: each rule is a function that yields its violations."""
