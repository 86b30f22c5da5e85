"""Short digests of contents and weights."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

# Hexadecimal digits: 64 bits suffice where nobody searches for a collision.
_DIGITS = 16


def digest(parts: Iterable[bytes]) -> str:
    """The first 16 hexadecimal digits of SHA-256 of the bytes, one part after the other."""
    sha256 = hashlib.sha256()
    for part in parts:
        sha256.update(part)
    return sha256.hexdigest()[:_DIGITS]


def digest_weights(model: "keras.Model") -> str:
    """The digest of the shapes and values of a model's weights, which does not depend on the names of its layers."""
    arrays = model.get_weights()
    return digest(part for array in arrays for part in (f"{array.dtype}{array.shape}".encode(), array.tobytes()))
