"""What each way to make a model smaller costs, alone and on top of the others."""
