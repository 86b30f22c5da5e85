"""Names of types for tensors."""

from typing import Any

Tensor = Any
"""A tensor of Keras' backend, symbolic or with values; backends share no type that checkers could use."""
