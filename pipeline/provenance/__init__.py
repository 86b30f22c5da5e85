"""What is behind a run, a step and a file."""
