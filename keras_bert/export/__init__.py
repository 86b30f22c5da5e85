"""Writing models for other runtimes, reading them back, and proving that they still say the same."""
