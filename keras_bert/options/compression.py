"""How record files are packed."""

from typing import Literal

Compression = Literal["none", "gzip"]
