"""Models on the Hugging Face hub: the command `publish`, and a function of this name for notebooks."""
