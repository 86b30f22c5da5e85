"""One file a task: its head, loss, metrics and decoding."""
