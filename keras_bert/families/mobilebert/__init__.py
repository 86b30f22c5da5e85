"""MobileBERT (Sun et al. 2020): bottleneck blocks, which compute on narrower states than those between blocks."""
