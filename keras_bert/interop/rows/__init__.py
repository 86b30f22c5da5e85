"""The families that transformers has and this library reads and writes, by the kind of their graph."""
