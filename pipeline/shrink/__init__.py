"""The best small model within limits of size and time: candidates, their costs, and which are trained on."""
