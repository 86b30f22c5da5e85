"""What benchmarks are run with: processes, turns and tables."""
