"""ModernBERT (Warner et al. 2024): rotary positions, gated feed-forward layers, local and global attention."""
