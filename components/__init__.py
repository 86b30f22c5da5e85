"""The steps: one typed function a file, and the pure functions it calls."""
