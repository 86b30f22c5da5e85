"""Which tokens to hide."""
