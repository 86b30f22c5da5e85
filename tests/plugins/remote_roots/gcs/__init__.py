"""A root in a fake server of Google Cloud Storage on loopback."""
