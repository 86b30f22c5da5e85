"""How new rows differ from those that a model learnt from: the command `check`."""
