"""Reads checkpoints of other libraries into tasks, and writes tasks as their checkpoints, without those libraries."""
