"""Texts as the string tensors that graphs take."""

import reprlib
from collections.abc import Iterable
from typing import Any

import tensorflow as tf


def as_strings(name: str, texts: Any, like: tf.Tensor | None = None) -> tf.Tensor:
    """A (batch,) string tensor of texts.

    Args:
        name: the argument that holds them, for errors.
        texts: `str`, or `bytes` that hold UTF-8, at least one; or a (batch,) string tensor.
        like: another (batch,) tensor, of as many texts.

    Raises:
        TypeError: `texts` is a single text, no list or tensor of texts, or one of them is no text.
        ValueError: there is none, or not as many as `like` has; a text has a lone surrogate; a tensor is not (batch,).
    """
    strings = _check_tensor(name, texts) if tf.is_tensor(texts) else tf.constant(_encode(name, texts), tf.string)
    if like is not None and not strings.shape.is_compatible_with(like.shape):
        raise ValueError(f"{name} must hold as many texts as texts does, {like.shape[0]}, got {strings.shape[0]}")
    return strings


def _check_tensor(name: str, tensor: tf.Tensor) -> tf.Tensor:
    if tensor.dtype != tf.string:
        raise TypeError(f"{name} must be a tensor of strings, got one of {tensor.dtype.name}")
    if tensor.shape.rank not in (None, 1):
        raise ValueError(f"{name} must be a tensor of shape (batch,), got {tuple(tensor.shape)}")
    return tensor


def _encode(name: str, texts: Any) -> list[bytes]:
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
