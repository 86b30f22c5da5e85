"""DeBERTa (He et al. 2021, 2023): disentangled attention to the contents and the relative positions of tokens."""
