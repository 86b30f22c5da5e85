"""A pushed folder: the int8 model with all that it takes to ask it something."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.export.runtimes import TFLiteClassifier
from keras_bert.tasks.checks import as_texts, check_same_length
from keras_bert.tasks.classification import Prediction, decode
from keras_bert.tokenizer import Tokenizer


class Bundle:
    """Reads a folder with `model.tflite`, `vocab.txt`, `tokenizer.json` and `labels.json`.

    Args:
        folder: where a model was pushed to.
        num_threads: threads of the runtime.

    Attributes:
        labels: names of the classes, in the order of the logits.
        classifier: from `token_ids`, `segment_ids`, `padding_mask` (batch, length) to logits (batch, labels); at most
            `classifier.max_length` tokens of a text or pair.

    Raises:
        FileNotFoundError: the folder lacks one of the files.
    """

    def __init__(self, folder: str | os.PathLike[str], num_threads: int = 1) -> None:
        folder = Path(folder)
        for name in ("model.tflite", "vocab.txt", "tokenizer.json", "labels.json"):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder} is no pushed model: it has no {name}")
        self.labels: list[str] = json.loads((folder / "labels.json").read_text())
        self.model_path = folder / "model.tflite"
        self.classifier = TFLiteClassifier(self.model_path, num_threads)
        self._tokenizer = Tokenizer.load(folder)

    def encode(self, text: str, second_text: str | None = None) -> dict[str, np.ndarray[Any, Any]]:
        """One text, or a pair, as model inputs (1, length), cut to the longest length that the model takes."""
        pair = None if second_text is None else [second_text]
        encoded = self._tokenizer.encode([text], pair, max_length=self.classifier.max_length, pad_to_longest=True)
        return {name: value.numpy() for name, value in encoded.items()}

    def predict(self, texts: Sequence[str], second_texts: Sequence[str] | None = None) -> list[Prediction]:
        """The most probable label of every text.

        Args:
            texts: what to classify.
            second_texts: the second text of each pair, for models trained on pairs.

        Raises:
            TypeError: a text is no string.
            ValueError: there are no texts, or not as many second texts.
        """
        rows = _as_rows(texts, second_texts)
        return [decode(self.classifier(**self.encode(*row))[0], self.labels) for row in rows]

    def count_tokens(self, texts: Sequence[str], second_texts: Sequence[str] | None = None) -> list[int]:
        """The tokens of every text or pair, special ones included, before anything is cut.

        Args:
            texts: see `predict`.
            second_texts: see there.

        Raises:
            TypeError: see there.
            ValueError: see there.
        """
        rows = [[text for text in row if text is not None] for row in _as_rows(texts, second_texts)]
        # One special token in front, and one behind each text.
        return [int(self._tokenizer.tokenize(row).flat_values.shape[0]) + len(row) + 1 for row in rows]


def _as_rows(texts: Sequence[str], second_texts: Sequence[str] | None) -> list[tuple[str, str | None]]:
    firsts = as_texts("texts", texts)
    seconds = [None] * len(firsts) if second_texts is None else second_texts
    check_same_length("texts", firsts, "second_texts", seconds)
    return list(zip(firsts, seconds, strict=True))
