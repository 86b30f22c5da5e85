"""The tasks, one file each: head, loss, metrics and decoding."""
