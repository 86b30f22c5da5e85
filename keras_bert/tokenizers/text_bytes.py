"""Texts as UTF-8."""

import reprlib
from collections.abc import Iterable
from typing import Any


def encode_texts(name: str, texts: Any) -> list[bytes]:
    """A list of texts, or of `bytes` that hold UTF-8, as UTF-8."""
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        raise TypeError(f"{name} must be a list of texts, got {reprlib.repr(texts)}")
    encoded = [_encode_one(name, place, text) for place, text in enumerate(texts)]
    if not encoded:
        raise ValueError(f"{name} must hold at least one text, got none")
    return encoded


def _encode_one(name: str, place: int, text: Any) -> bytes:
    if isinstance(text, bytes):
        return text
    if not isinstance(text, str):
        raise TypeError(f"{name}[{place}] must be text, got {reprlib.repr(text)}")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name}[{place}] must hold no lone surrogate, got {reprlib.repr(text)}") from None
