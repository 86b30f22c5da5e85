"""The way back from a saved tokenizer, of whatever kind."""

import json
import os
from pathlib import Path

from keras_bert.folders import TOKENIZER_FILE, VOCABULARY_FILE
from keras_bert.tokenizers.base import BaseTokenizer
from keras_bert.tokenizers.subwords import SubwordTokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer


def load_tokenizer(folder: str | os.PathLike[str]) -> BaseTokenizer:
    """Reads what `save` of a tokenizer wrote.

    Raises:
        FileNotFoundError: one of the two files is missing.
        ValueError: what they hold cannot be used, or they do not belong together.
    """
    text = (Path(folder) / VOCABULARY_FILE).read_text(encoding="utf-8")
    pieces = text.removesuffix("\n").split("\n") if text else []
    file = Path(folder) / TOKENIZER_FILE
    options = json.loads(file.read_text(encoding="utf-8"))
    if isinstance(options, dict) and "model" in options:
        tokenizer = SubwordTokenizer(options)
        if tokenizer.vocabulary != tuple(pieces):
            raise ValueError(f"{file} must hold the pieces of {VOCABULARY_FILE} beside it, got others")
        return tokenizer
    if not isinstance(options, dict) or not isinstance(options.get("lowercase"), bool):
        raise ValueError(f'{file} must say {{"lowercase": true}} or false, or describe a model, got {options!r}')
    return Tokenizer(pieces, options["lowercase"])
