"""Files for Core ML: written by coremltools, and run in an interpreter of their operations."""
