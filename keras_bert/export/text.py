"""Files for LiteRT that take text: the tokenizer is a part of the graph, as operations of tensorflow-text."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.compress.rounding import Rounding
from keras_bert.export.check import FLOAT32_TOLERANCE, check_parity
from keras_bert.export.quantized import export_quantized
from keras_bert.export.runtimes import TEXT_SIGNATURES, Array, TFLiteModel
from keras_bert.options.export import TEXT_TASKS
from keras_bert.tasks.base import Task
from keras_bert.tokenizers.tokenizer import Tokenizer


def export_text(task: Task, path: str | os.PathLike[str], rounding: Rounding | None = None) -> None:
    """Writes a task as a `.tflite` file that takes text.

    Args:
        task: of a Keras model.
        path: the file to write.
        rounding: what `QuantizationAware` left of it; None writes a float file.

    Raises:
        ValueError: the answers of the task have places in the text, its pieces are no word pieces, or the recipe makes
            all activations integers.
    """
    if task.name not in TEXT_TASKS:
        raise ValueError(f"a file that takes text must answer with numbers of a whole text, {TEXT_TASKS}: {task.name}")
    if not isinstance(task.tokenizer, Tokenizer):
        raise ValueError(f"a file that takes text must cut it into word pieces, got {task.tokenizer.kind}")
    lengths = (task.max_length,)
    export_quantized(task.network(), path, lengths, rounding, output=task.output_name, tokenizer=task.tokenizer)


class TextModel:
    """A `.tflite` file that takes text, in LiteRT with the operations of tensorflow-text.

    Args:
        path: what `export_text` wrote.
        num_threads: threads of one inference.

    Raises:
        ValueError: it is no such file.
    """

    def __init__(self, path: str | os.PathLike[str], num_threads: int = 1) -> None:
        import tensorflow_text
        from ai_edge_litert.interpreter import InterpreterWithCustomOps

        operations = tensorflow_text.tflite_registrar.SELECT_TFTEXT_OPS
        try:
            interpreter = InterpreterWithCustomOps(
                custom_op_registerers=operations, model_path=os.fspath(path), num_threads=num_threads
            )
        except ValueError as error:
            raise ValueError(f"{path} must be a .tflite file: {error}") from error
        if interpreter.get_signature_list().keys() != TEXT_SIGNATURES.keys():
            raise ValueError(f"{path} must take text, got the signatures {list(interpreter.get_signature_list())}")
        self._ask = {len(texts): interpreter.get_signature_runner(name) for name, texts in TEXT_SIGNATURES.items()}

    def __call__(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> Array:
        """Texts, or pairs -> the numbers of each, (texts, ...) float32."""
        sides: dict[str, Sequence[str]] = {"text": texts} | ({} if seconds is None else {"second": seconds})
        ask = self._ask[len(sides)]
        rows: list[Any] = []
        for row in zip(*sides.values(), strict=True):
            found = ask(**{name: np.array([text.encode()]) for name, text in zip(sides, row, strict=True)})
            rows += next(iter(found.values())).tolist()
        return np.array(rows, np.float32)


def check_text(task: Task, path: Path, file: Path, texts: Sequence[str]) -> float:
    """The largest difference between a file that takes text and the one that takes ids.

    Args:
        task: whose tokenizer makes ids.
        path: the file that takes text.
        file: of the same weights, which takes ids.
        texts: what to ask, by themselves and, where pairs can be asked, in pairs.

    Raises:
        ParityError: they answer otherwise.
    """
    found, wanted, largest = TextModel(path), TFLiteModel(file), 0.0
    pairs: list[Sequence[str] | None] = [None] if task.name == "embedding" else [None, [*texts[1:], texts[0]]]
    for seconds in pairs:
        rows = task.tokenizer.encode(texts, seconds, max_length=task.max_length)
        outputs = wanted.predict_on_batch({name: np.asarray(values) for name, values in rows.items()})
        reference = outputs[task.output_name] if isinstance(outputs, dict) else outputs
        largest = max(largest, check_parity(path.name, reference, found(texts, seconds), FLOAT32_TOLERANCE))
    return largest
