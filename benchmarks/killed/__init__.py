"""Runs that are killed at any moment and harmed in between, and whether anything is lost by that."""
