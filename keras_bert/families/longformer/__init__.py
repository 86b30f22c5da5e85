"""Longformer (Beltagy et al. 2020): each token attends to a window around it, and a few tokens to all."""
