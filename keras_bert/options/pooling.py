"""How the states of a text's tokens become one vector."""

from typing import Literal

Pooling = Literal["cls", "mean"]
