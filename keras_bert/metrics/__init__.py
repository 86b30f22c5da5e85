"""How good answers are, in the terms of the field."""
