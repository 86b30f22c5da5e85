"""Variants under one budget: how they are read, run, and told apart."""
