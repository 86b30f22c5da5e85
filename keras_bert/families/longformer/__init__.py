"""Longformer (Beltagy et al. 2020): sliding-window attention, and global tokens."""
