"""Fused layers and losses for training, compiled with XLA."""
