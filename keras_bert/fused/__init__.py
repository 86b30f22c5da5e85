"""XLA's twins of layers and losses, for training."""
