"""BERT with a LayerNorm before each sublayer: RoBERTa-PreLayerNorm (Wettig et al. 2023), Megatron-BERT."""
