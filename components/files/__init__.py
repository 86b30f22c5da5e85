"""Paths of the user's -> bytes -> lines -> records with named fields."""
