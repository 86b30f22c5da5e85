"""Encoder families, one package each: settings, layers, the model graph, and the format of checkpoints."""
