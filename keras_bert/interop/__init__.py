"""Checkpoints of other libraries: read into tasks, and written from them, without those libraries."""
