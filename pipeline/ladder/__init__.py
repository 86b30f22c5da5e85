"""The ladder: the cost in score of each way to make a model smaller, alone and combined with the others."""
