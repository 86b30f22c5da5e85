"""A root in object storage: its log of runs, leases, artifacts, and the local mirror."""
