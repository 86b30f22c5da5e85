"""Crash tests: runs are killed at random moments, faults are injected between starts, and the results compared."""
