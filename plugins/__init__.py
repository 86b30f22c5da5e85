"""Plug-ins: a folder each, which the core meets by the entry points of `pyproject.toml` alone."""
