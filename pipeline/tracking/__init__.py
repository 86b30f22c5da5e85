"""Runs in the stores of others."""
