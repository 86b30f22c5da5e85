"""Shards of a corpus -> rows for pre-training, masked and counted."""
