"""The bricks of the encoder, one a file."""
