"""The graphs: built, saved and loaded."""
