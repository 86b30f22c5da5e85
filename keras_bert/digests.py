"""Short digests, to tell contents apart."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import keras

# Hexadecimal digits, 64 bits: enough where nobody looks for two contents with one digest.
_DIGITS = 16


def digest(parts: Iterable[bytes]) -> str:
    """The first 16 hexadecimal digits of SHA-256 of the bytes, one part after the other."""
    found = hashlib.sha256()
    for part in parts:
        found.update(part)
    return found.hexdigest()[:_DIGITS]


def digest_weights(model: "keras.Model") -> str:
    """Tells models apart by the shapes and values of their weights, whatever their layers are called."""
    arrays = model.get_weights()
    return digest(part for array in arrays for part in (f"{array.dtype}{array.shape}".encode(), array.tobytes()))
