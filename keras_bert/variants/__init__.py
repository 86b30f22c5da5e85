"""What of an encoder's graph is not BERT's: settings, a kind a file."""
