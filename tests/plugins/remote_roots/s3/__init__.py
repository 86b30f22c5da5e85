"""A server of S3 on loopback, and faults in the connections to it."""
