"""The search of a job: for its best settings, or with limits for its best small model, within a time."""
