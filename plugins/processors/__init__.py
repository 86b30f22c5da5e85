"""Exported files on emulated processors: the table `[processors]` and the command `emulate`."""
