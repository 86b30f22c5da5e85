"""Texts as string tensors for graphs."""

from typing import Any

import tensorflow as tf

from keras_bert.tokenizers.text_bytes import encode_texts


def as_strings(name: str, texts: Any, like: tf.Tensor | None = None) -> tf.Tensor:
    """A (batch,) string tensor of texts: a list of `str`, or of `bytes` that hold UTF-8, or such a tensor."""
    strings = texts if tf.is_tensor(texts) else tf.constant(encode_texts(name, texts), tf.string)
    if strings.dtype != tf.string:
        raise TypeError(f"{name} must be a tensor of strings, got one of {strings.dtype.name}")
    if strings.shape.rank not in (None, 1):
        raise ValueError(f"{name} must be a tensor of shape (batch,), got {tuple(strings.shape)}")
    if like is not None and not strings.shape.is_compatible_with(like.shape):
        raise ValueError(f"{name} must hold as many texts as texts does, {like.shape[0]}, got {strings.shape[0]}")
    return strings
