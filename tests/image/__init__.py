"""The container image without a container engine: its instructions in a folder, and linters of its files."""
