"""Records -> batches by number, from any batch on."""
