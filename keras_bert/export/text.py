"""Files for LiteRT that take text: the tokenizer is a part of the graph, as operations of tensorflow-text."""

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keras_bert.compress.rounding import Rounding
from keras_bert.export.check import FLOAT32_TOLERANCE, ParityError, check_parity
from keras_bert.export.quantized import export_quantized
from keras_bert.export.runtimes import TEXT_SIGNATURES, Array, TFLiteModel
from keras_bert.export.text_inputs import ENDS, STARTS, Places, TextInputs
from keras_bert.tasks.base import Task
from keras_bert.tokenizers.tokenizer import Tokenizer

# Task -> the signatures of its file, and whose places it tells; all others have all signatures and tell none.
_SIGNATURES: dict[str, tuple[tuple[str, ...], Places]] = {
    "token_classification": (("serve_text",), "words"),
    "question_answering": (("serve_pair",), "pieces"),
}


def export_text(task: Task, path: str | os.PathLike[str], rounding: Rounding | None = None) -> None:
    """Writes a task as a `.tflite` file that takes text.

    Tags have outputs `starts` and `ends` besides, int32 (1, length): at the first piece of each word, which bears its
    tag, the word's characters in the text, -1 at all other tokens. So have answers, of each piece of the context.

    Args:
        task: of a Keras model.
        path: the file to write.
        rounding: what `QuantizationAware` left of it; None writes a float file.

    Raises:
        ValueError: the task's pieces are no word pieces, or the recipe makes all activations integers.
    """
    network, lengths = task.network(), (task.max_length,)
    export_quantized(network, path, lengths, rounding, output=task.output_name, text=text_inputs(task))


def text_inputs(task: Task) -> TextInputs:
    """How the file of a task takes text.

    Raises:
        ValueError: the task's pieces are no word pieces.
    """
    if not isinstance(task.tokenizer, Tokenizer):
        raise ValueError(f"a file that takes text must cut it into word pieces, got {task.tokenizer.kind}")
    signatures, places = _SIGNATURES.get(task.name, (tuple(TEXT_SIGNATURES), "none"))
    return TextInputs(task.tokenizer, signatures, places)


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
        found = interpreter.get_signature_list()
        if not found or not found.keys() <= TEXT_SIGNATURES.keys():
            raise ValueError(f"{path} must take text, got the signatures {list(found)}")
        self._path = path
        self._ask = {len(TEXT_SIGNATURES[name]): interpreter.get_signature_runner(name) for name in found}

    def __call__(self, texts: Sequence[str], seconds: Sequence[str] | None = None) -> dict[str, Array]:
        """Texts, or pairs -> each output (texts, ...): the numbers float32, `starts` and `ends` int32.

        Raises:
            ValueError: the file takes pairs alone, or none.
        """
        sides: dict[str, Sequence[str]] = {"text": texts} | ({} if seconds is None else {"second": seconds})
        if len(sides) not in self._ask:
            wanted = "pairs" if len(sides) == 1 else "single texts"
            raise ValueError(f"{self._path} must be asked {wanted}, got {' and '.join(sides)}")
        ask = self._ask[len(sides)]
        rows = [
            ask(**{name: np.array([text.encode()]) for name, text in zip(sides, row, strict=True)})
            for row in zip(*sides.values(), strict=True)
        ]
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}


def check_text(task: Task, path: Path, file: Path, texts: Sequence[str]) -> float:
    """The largest difference between a file that takes text and the one that takes ids.

    Args:
        task: whose tokenizer makes ids.
        path: the file that takes text.
        file: of the same weights, which takes ids.
        texts: what to ask, by themselves and in pairs, where the file can be asked so.

    Raises:
        ParityError: they answer otherwise, or places are not those of the tokenizer.
    """
    found, wanted, inputs, largest = TextModel(path), TFLiteModel(file), text_inputs(task), 0.0
    for name in inputs.signatures:
        sides = (texts,) if len(TEXT_SIGNATURES[name]) == 1 else (texts, [*texts[1:], texts[0]])
        answers = found(*sides)
        encoded = [
            inputs.rows(*([side[number]] for side in sides), max_length=task.max_length) for number in range(len(texts))
        ]
        rows = {name: np.concatenate([np.asarray(row[name]) for row in encoded]) for name in encoded[0]}
        outputs = wanted.predict_on_batch(rows)
        reference = outputs[task.output_name] if isinstance(outputs, dict) else outputs
        answered = answers[task.output_name]
        largest = max(largest, check_parity(path.name, reference, answered, FLOAT32_TOLERANCE, rows["padding_mask"]))
        for place in (STARTS, ENDS):
            if not np.array_equal(answers.get(place, []), rows.get(place, [])):
                raise ParityError(f"{path.name} must tell the places of the tokenizer, got others as {place}")
    return largest
