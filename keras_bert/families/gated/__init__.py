"""BERT with gated feed-forward layers, and relative positions in its attention: NomicBERT, GTE, JinaBERT v2."""
