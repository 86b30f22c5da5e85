"""Exports `.tflite` files with text as input: tensorflow-text's operations tokenize it inside the graph."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.export.check import ParityError, check_parity, parity_tolerance
from keras_bert.export.quantized import export_quantized
from keras_bert.export.runtimes import TEXT_SIGNATURES, Array, TFLiteModel
from keras_bert.export.text_inputs import ENDS, STARTS, TextInputs
from keras_bert.tasks.base import SecondText, Task
from keras_bert.tokenizers.tokenizer import Tokenizer

# `Task.second_text` -> the signatures of the task's file.
_SIGNATURES: dict[SecondText, tuple[str, ...]] = {
    "optional": tuple(TEXT_SIGNATURES),
    "required": ("serve_pair",),
    "unused": ("serve_text",),
    "compared": ("serve_text",),
}


def export_text(task: Task, path: str | os.PathLike[str], quantization: QuantizationParameters | None = None) -> None:
    """Writes a task as a `.tflite` file with text as input; a float file without `quantization`.

    Token classification has two more outputs, `starts` and `ends`, int32 (1, length): the offsets of each word in the
    text, at the word's first token, and -1 at other tokens. Question answering has them for each token of the context.
    """
    network, lengths = task.network(), (task.max_length,)
    export_quantized(network, path, lengths, quantization, output=task.output_name, text=text_inputs(task))


def text_inputs(task: Task) -> TextInputs:
    """Returns the text inputs of a task with a WordPiece tokenizer."""
    assert isinstance(task.tokenizer, Tokenizer), "LiteRTText.check comes first"
    return TextInputs(task.tokenizer, text_signatures(task), task.places)


def text_signatures(task: Task) -> tuple[str, ...]:
    """The signatures, keys of `TEXT_SIGNATURES`, of a task's file with text as input."""
    return _SIGNATURES[task.second_text]


class TextModel:
    """Runs a `.tflite` file with text as input in LiteRT, with the operations of tensorflow-text."""

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
        signatures = interpreter.get_signature_list()
        if not signatures or not signatures.keys() <= TEXT_SIGNATURES.keys():
            raise ValueError(f"{path} must take text, got the signatures {list(signatures)}")
        self._path = path
        self._ask = {len(TEXT_SIGNATURES[name]): interpreter.get_signature_runner(name) for name in signatures}
        # As in `TFLiteModel`.
        self._turn = threading.Lock()
        details = next(iter(self._ask.values())).get_output_details()
        self.shapes = {name: tuple(int(size) for size in details[name]["shape"]) for name in details}

    def __call__(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> dict[str, Array]:
        """Texts, or pairs -> outputs by name (texts, ...), float32; `starts` and `ends` are int32."""
        sides: dict[str, Sequence[str]] = {"text": texts} | ({} if seconds is None else {"second": seconds})
        if len(sides) not in self._ask:
            expected = "pairs" if len(sides) == 1 else "single texts"
            raise ValueError(f"{self._path} must be asked {expected}, got {' and '.join(sides)}")
        ask = self._ask[len(sides)]
        rows = []
        for row in zip(*sides.values(), strict=True):
            with self._turn:
                rows.append(ask(**{name: np.array([text.encode()]) for name, text in zip(sides, row, strict=True)}))
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def check_text(task: Task, path: Path, file: Path, texts: Sequence[str]) -> float:
    """Compares a file with text as input with that for token ids; returns the largest difference of their outputs.

    The texts are compared as single texts and as pairs, if the file has these signatures.
    """
    text_model, ids_model, inputs, largest = TextModel(path), TFLiteModel(file), text_inputs(task), 0.0
    for name in inputs.signatures:
        sides = (texts,) if len(TEXT_SIGNATURES[name]) == 1 else (texts, [*texts[1:], texts[0]])
        answers = text_model(*sides)
        encoded = [
            inputs.rows(*([side[number]] for side in sides), max_length=task.max_length) for number in range(len(texts))
        ]
        rows = {name: np.concatenate([np.asarray(row[name]) for row in encoded]) for name in encoded[0]}
        outputs = ids_model.predict_on_batch(rows)
        reference = outputs[task.output_name] if isinstance(outputs, dict) else outputs
        answered, mask = answers[task.output_name], rows["padding_mask"]
        tolerance = parity_tolerance(reference, mask, half=False)
        largest = max(largest, check_parity(path.name, reference, answered, tolerance, mask))
        for place in (STARTS, ENDS):
            if not np.array_equal(answers.get(place, []), rows.get(place, [])):
                raise ParityError(f"{path.name} must tell the places of the tokenizer, got others as {place}")
    return largest
