"""The compiled step, the loop around it, and its checkpoints."""
