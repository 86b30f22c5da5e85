"""The compression of record files."""

from typing import Literal

Compression = Literal["none", "gzip"]
