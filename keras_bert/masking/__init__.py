"""Masks tokens for masked language modelling."""
