"""The answers of a model to tables and to streams of lines."""
