"""DeBERTa (He et al. 2021, 2023): attention to the content of tokens and to their relative positions."""
