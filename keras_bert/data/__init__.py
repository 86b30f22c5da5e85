"""Reads records into numbered batches, from any batch on."""
