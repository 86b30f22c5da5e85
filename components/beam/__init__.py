"""Runs Beam pipelines: runner, processes and threads."""
