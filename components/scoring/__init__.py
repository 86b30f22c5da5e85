"""How good, how big and how fast a model is, and the card that says so."""
