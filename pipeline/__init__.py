"""Wiring and running: settings, pipelines, the store, the launcher and the command line."""
