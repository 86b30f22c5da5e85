"""Speed, ours and the peers' side by side, from one run."""
