"""The settings of a user: their schema, and the files that they come from."""
