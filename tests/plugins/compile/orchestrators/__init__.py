"""Compiled jobs in orchestrators of others, each in an environment of its own."""
