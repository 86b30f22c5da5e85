"""Corrupted files of every format that the project reads, and a process that reads them."""
