"""Keras layers that several families of encoders share."""
