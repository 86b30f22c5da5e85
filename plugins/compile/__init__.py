"""A job as a file for an orchestrator, in which each step is a command of its own."""
