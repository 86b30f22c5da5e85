"""Provenance: the lineage of files, the differences of runs, and garbage collection."""
