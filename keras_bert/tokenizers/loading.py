"""Loads saved tokenizers of all kinds."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_bert.core.folders import TOKENIZER_FILE, VOCABULARY_FILE
from keras_bert.options.data import Lowercasing
from keras_bert.tokenizers.base import BaseTokenizer, vocabulary_lines

_SHOWN = 200


def load_tokenizer(folder: str | os.PathLike[str]) -> BaseTokenizer:
    """Loads a tokenizer that `BaseTokenizer.save` wrote, as a tokenizer in TensorFlow."""
    from keras_bert.tokenizers.subwords import SubwordTokenizer
    from keras_bert.tokenizers.tokenizer import Tokenizer

    return _load(folder, Tokenizer, SubwordTokenizer)


def load_eager_tokenizer(folder: str | os.PathLike[str]) -> BaseTokenizer:
    """Loads a tokenizer in NumPy, without TensorFlow: the same ids, arguments and errors as `load_tokenizer`."""
    from keras_bert.tokenizers.eager import EagerSubwords, EagerWordPiece

    return _load(folder, EagerWordPiece, EagerSubwords)


def _load(
    folder: str | os.PathLike[str],
    word_pieces: Callable[[Sequence[str], Lowercasing], BaseTokenizer],
    subwords: Callable[[Mapping[str, Any]], BaseTokenizer],
) -> BaseTokenizer:
    vocabulary, file = Path(folder) / VOCABULARY_FILE, Path(folder) / TOKENIZER_FILE
    text = _read(vocabulary)
    tokens = text.removesuffix("\n").split("\n") if text else []
    try:
        options = json.loads(_read(file))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} must hold JSON: {error}") from None
    try:
        if isinstance(options, dict) and "model" in options:
            tokenizer = subwords(options)
            if vocabulary_lines(tokenizer.vocabulary) != tokens:
                raise ValueError(f"{TOKENIZER_FILE} must hold the tokens of {VOCABULARY_FILE} beside it, got others")
            return tokenizer
        if not isinstance(options, dict) or options.get("lowercase") not in (True, False, "keep_accents"):
            rule = 'must say {"lowercase": true}, false or "keep_accents", or describe a model'
            raise ValueError(f"{TOKENIZER_FILE} {rule}, got {str(options)[:_SHOWN]}")
        return word_pieces(tokens, options["lowercase"])
    except ValueError as error:
        raise ValueError(f"{vocabulary} and {TOKENIZER_FILE} beside it cannot be used: {error}") from None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} must hold UTF-8: {error}") from None
