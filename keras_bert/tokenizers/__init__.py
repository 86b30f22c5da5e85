"""Text -> pieces of a vocabulary."""
