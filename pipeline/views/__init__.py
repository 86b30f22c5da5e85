"""Tables, plots and messages for people."""
