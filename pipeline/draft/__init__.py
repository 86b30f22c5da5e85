"""A first job for rows: what they are, settings that suit them, and the file."""
