"""From an encoder's inputs to the final states of its tokens, a kind of graph a file."""
