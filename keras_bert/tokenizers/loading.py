"""The way back from a saved tokenizer, of whatever kind."""

import json
import os
from pathlib import Path

from keras_bert.folders import TOKENIZER_FILE, VOCABULARY_FILE
from keras_bert.tokenizers.base import BaseTokenizer
from keras_bert.tokenizers.subwords import SubwordTokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer

_SHOWN = 200


def load_tokenizer(folder: str | os.PathLike[str]) -> BaseTokenizer:
    """Reads what `save` of a tokenizer wrote.

    Raises:
        FileNotFoundError: one of the two files is missing.
        ValueError: what they hold cannot be used, or they do not belong together.
    """
    vocabulary, file = Path(folder) / VOCABULARY_FILE, Path(folder) / TOKENIZER_FILE
    text = _read(vocabulary)
    pieces = text.removesuffix("\n").split("\n") if text else []
    try:
        options = json.loads(_read(file))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file} must hold JSON: {error}") from None
    try:
        if isinstance(options, dict) and "model" in options:
            tokenizer = SubwordTokenizer(options)
            if tokenizer.vocabulary != tuple(pieces):
                raise ValueError(f"{TOKENIZER_FILE} must hold the pieces of {VOCABULARY_FILE} beside it, got others")
            return tokenizer
        if not isinstance(options, dict) or not isinstance(options.get("lowercase"), bool):
            rule = 'must say {"lowercase": true} or false, or describe a model'
            raise ValueError(f"{TOKENIZER_FILE} {rule}, got {str(options)[:_SHOWN]}")
        return Tokenizer(pieces, options["lowercase"])
    except ValueError as error:
        raise ValueError(f"{vocabulary} and {TOKENIZER_FILE} beside it cannot be used: {error}") from None


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{file} must hold UTF-8: {error}") from None
