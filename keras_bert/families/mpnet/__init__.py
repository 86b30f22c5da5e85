"""MPNet (Song et al. 2020): BERT with a bias of relative positions in all attention scores."""
