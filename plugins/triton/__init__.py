"""Exports model repositories for Triton Inference Server."""
