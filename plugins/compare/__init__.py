"""Comparison of variants under one budget: reading them, running them, and testing their differences."""
