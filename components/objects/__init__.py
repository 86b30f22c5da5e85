"""Object storage, such as `s3://bucket/prefix`, and the hub: objects, downloads into a cache, pushed versions."""
