"""The settings of a job: their schema, and the files that they are read from."""
