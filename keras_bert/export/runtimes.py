"""Exported files in the runtimes they were made for; no TensorFlow and no Keras."""

import os
import re
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

INPUT_NAMES = ("token_ids", "segment_ids", "padding_mask")
SIGNATURE = "serve_{length}"


class TFLiteClassifier:
    """A `.tflite` classifier with one signature a length, in LiteRT.

    Args:
        path: what `export_tflite` wrote.
        num_threads: threads of one inference.

    Attributes:
        lengths: tokens that the signatures take, shortest first.

    Raises:
        ValueError: the file has no such signatures.
    """

    def __init__(self, path: str | os.PathLike[str], num_threads: int = 1) -> None:
        from ai_edge_litert.interpreter import Interpreter

        interpreter = Interpreter(model_path=os.fspath(path), num_threads=num_threads)
        names = {int(match[1]): name for name in interpreter.get_signature_list() if (match := _LENGTH.fullmatch(name))}
        if not names:
            raise ValueError(f"{path} must have signatures named {SIGNATURE}, got {interpreter.get_signature_list()}")
        self.lengths = tuple(sorted(names))
        self._signatures = {length: interpreter.get_signature_runner(names[length]) for length in self.lengths}

    @property
    def max_length(self) -> int:
        """The most tokens that a row may have."""
        return self.lengths[-1]

    def __call__(self, token_ids: Array, segment_ids: Array, padding_mask: Array) -> Array:
        """Three times (batch, length), any integers -> logits (batch, labels).

        Each row runs in the shortest signature that holds its tokens, padding not counted.

        Raises:
            ValueError: a row has more tokens than the longest signature.
        """
        rows = zip(token_ids, segment_ids, padding_mask, strict=True)
        return np.stack([self._classify(dict(zip(INPUT_NAMES, row, strict=True))) for row in rows])

    def _classify(self, row: dict[str, Array]) -> Array:
        """Three times (length,) -> logits (labels,)."""
        tokens = _count_tokens(row["padding_mask"])
        length = next((length for length in self.lengths if tokens <= length), None)
        if length is None:
            raise ValueError(f"a row must have at most {self.max_length} tokens, got {tokens}")
        inputs = {name: np.zeros((1, length), np.int32) for name in INPUT_NAMES}
        for name, values in row.items():
            inputs[name][0, :tokens] = values[:tokens]
        logits: Array = self._signatures[length](**inputs)["logits"][0]
        return logits


class OnnxClassifier:
    """An `.onnx` classifier in ONNX Runtime.

    Args:
        path: what `export_onnx` wrote.
        num_threads: threads of one inference.
    """

    def __init__(self, path: str | os.PathLike[str], num_threads: int = 1) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])

    def __call__(self, token_ids: Array, segment_ids: Array, padding_mask: Array) -> Array:
        """Three times (batch, length), any integers -> logits (batch, labels)."""
        given = zip(INPUT_NAMES, (token_ids, segment_ids, padding_mask), strict=True)
        inputs = {name: np.asarray(values, np.int32) for name, values in given}
        logits: Array = self._session.run(["logits"], inputs)[0]
        return logits


_LENGTH = re.compile(SIGNATURE.format(length=r"(\d+)"))


def _count_tokens(padding_mask: Array) -> int:
    """Tokens up to the last that is not padding, at least 1."""
    filled = np.flatnonzero(padding_mask)
    return int(filled[-1]) + 1 if filled.size else 1
