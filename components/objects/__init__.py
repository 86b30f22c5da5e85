"""Object storage, such as `s3://bucket/prefix`: objects, downloads into a cache, pushed versions."""
