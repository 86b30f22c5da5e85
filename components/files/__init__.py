"""Reads the user's files: paths -> bytes -> lines -> records with named fields."""
