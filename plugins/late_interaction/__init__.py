"""Late interaction: a vector for each token, compared by the best match of each token of a query (ColBERT)."""
