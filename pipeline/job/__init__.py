"""Reads job files, and checks what their tables need of one another and of the data."""
