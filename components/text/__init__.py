"""Pure functions on texts that several rooms call."""
