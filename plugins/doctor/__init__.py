"""The layers that quantization hurts, and what it costs to keep them float."""
