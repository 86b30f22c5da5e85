"""Objectives: the losses that training minimizes, and the metrics beside them."""
