"""Labelled rows -> splits and records, and back."""
