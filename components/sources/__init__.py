"""The user's data, a kind a file: its settings and its reader together."""
