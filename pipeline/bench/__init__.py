"""Files side by side: how fast they open and answer, and how much memory they take, here or on a phone."""
