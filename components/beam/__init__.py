"""Beam as an engine: where its pipelines run, in how many processes and threads."""
