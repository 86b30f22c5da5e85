"""From shards of a corpus to masked pre-training rows with their statistics."""
