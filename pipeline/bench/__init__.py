"""Measures latency and memory of exported files, on this machine or on a phone."""
