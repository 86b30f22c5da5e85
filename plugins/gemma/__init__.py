"""EmbeddingGemma: the encoder of Gemma 3 whose tokens attend in both directions, as embeddings."""
