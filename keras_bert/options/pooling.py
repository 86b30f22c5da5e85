"""The pooling of the states of tokens into the vector of a text."""

from typing import Literal

Pooling = Literal["cls", "mean"]
