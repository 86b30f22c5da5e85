"""MobileBERT (Sun et al. 2020): blocks that are narrower inside than between them."""
