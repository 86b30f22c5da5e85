"""What TensorFlow trains faster with; opt-in, see `training`."""
