"""What the training steps share."""
