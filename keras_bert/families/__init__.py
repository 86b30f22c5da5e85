"""The families of encoders, a package each: the settings, layers and graph, and the checkpoints of transformers."""
