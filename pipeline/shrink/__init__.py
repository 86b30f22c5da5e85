"""The best small model within limits of size and time: candidates, what they cost, and which of them is trained on."""
