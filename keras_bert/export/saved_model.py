"""Exports a task as a SavedModel, for TensorFlow Serving and `tf.saved_model.load`: text in, answers out."""

import functools
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from keras_bert.core.folders import CALIBRATION_FILE, temporary_folder
from keras_bert.export.check import check_parity, parity_tolerance
from keras_bert.export.runtimes import IDS_SIGNATURE, TEXT_SIGNATURES, load_saved_model
from keras_bert.export.served_answers import Served, answer_texts, expected_numbers
from keras_bert.export.served_calibration import NAMES, write_table
from keras_bert.export.text import text_signatures
from keras_bert.models.encoder import input_names
from keras_bert.models.first_token import skip_unused_tokens
from keras_bert.tasks.base import Task
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.tokenizer import Tokenizer

# The signature that clients ask if they name none.
DEFAULT_SIGNATURE = "serving_default"


class TextSignature(NamedTuple):
    """The inputs of a signature that takes text, and the prompt that it puts in front of each."""

    inputs: tuple[str, ...]
    prompts: tuple[str, ...]


class _CalibrationTable(tf.lookup.TextFileInitializer):
    """A table in a file. Its default name would have the path of the file, so that no two exports were equal."""

    _shared_name = "calibration"


def find_signatures(task: Task) -> dict[str, TextSignature]:
    """The signatures of a task's SavedModel that take text, the default one first.

    There are none without WordPiece, or if the task `marks_rows`; and none for queries that the model does not read.
    """
    if not isinstance(task.tokenizer, Tokenizer) or task.marks_rows:
        return {}
    if isinstance(task, Embedding):
        query, passage = task.prompts.query, task.prompts.passage
        signatures = {
            "serve_query": TextSignature(("text",), (query,)),
            "serve_passage": TextSignature(("text",), (passage,)),
            "serve_text": TextSignature(("text",), ("",)),
            "serve_pair": TextSignature(("text", "second"), (query, passage)),
        }
        skipped = () if task.runs_queries else ("serve_query", "serve_pair")
        return {name: signature for name, signature in signatures.items() if name not in skipped}
    names = sorted(text_signatures(task), key=lambda name: (name == "serve_pair") != bool(task.pairs))
    return {name: TextSignature(TEXT_SIGNATURES[name], ("",) * len(TEXT_SIGNATURES[name])) for name in names}


def export_saved_model(task: Task, folder: Path) -> None:
    """Writes a task as a SavedModel: `saved_model.pb`, `variables` and `assets` in a folder.

    Signatures, each for a batch of any size:
    - `serve_text`, `serve_pair` and, for vectors, `serve_query` and `serve_passage`, where the tokenizer is WordPiece:
      strings (batch,) to the outputs of `answer_texts`; they read long texts as `Task.predict` does.
    - `serve_ids`: the model's inputs, int32 (batch, length), to its output.
    - `serving_default`, and the attribute `serve`: the first of `find_signatures`, else `serve_ids`.

    The calibration is a table in `assets`, so that `write_calibration` may set it in the folder.
    """
    network, output = skip_unused_tokens(task.network()), task.output_name
    module = tf.Module()
    module.weights = [weight.value for weight in network.weights]
    specs = {name: tf.TensorSpec((None, None), tf.int32, name=name) for name in input_names(network)}

    @tf.function(input_signature=[specs], autograph=False)
    def run(inputs: dict[str, tf.Tensor]) -> tf.Tensor:
        return network(inputs, training=False)

    signatures = {IDS_SIGNATURE: _serve(lambda **inputs: {output: run(inputs)}, specs)}
    with temporary_folder() as made:
        table = Path(made) / Path(CALIBRATION_FILE).name
        write_table(table, task.calibration)
        initializer = _CalibrationTable(str(table), tf.string, 0, tf.float64, 1, delimiter="\t")
        module.calibration = tf.lookup.StaticHashTable(initializer, default_value=1.0)
        if isinstance(task.tokenizer, Tokenizer):
            served = Served(
                task.tokenizer,
                lambda rows: run({name: rows[name] for name in specs}),
                *(functools.partial(module.calibration.lookup, tf.constant(name)) for name in NAMES),
            )
            for name, signature in find_signatures(task).items():
                signatures[name] = _serve_text(task, served, signature)
        module.serve = signatures[next(iter(find_signatures(task)), IDS_SIGNATURE)]
        tf.saved_model.save(module, f"{made}/saved", signatures={DEFAULT_SIGNATURE: module.serve, **signatures})
        # The file has a random number, and no server reads it.
        (Path(made) / "saved" / "fingerprint.pb").unlink(missing_ok=True)
        shutil.copytree(f"{made}/saved", folder, dirs_exist_ok=True)


def check_saved_model(task: Task, path: Path, texts: Sequence[str]) -> float:
    """Compares answers of the signatures that take text with those of the task; returns the largest difference."""
    signatures, largest = load_saved_model(path).signatures, 0.0
    for name, signature in find_signatures(task).items():
        sides = [texts, [*texts[1:], texts[0]]][: len(signature.inputs)]
        given = {side: tf.constant(part) for side, part in zip(signature.inputs, sides, strict=True)}
        prompted = [[prompt + text for text in part] for prompt, part in zip(signature.prompts, sides, strict=True)]
        output, expected = expected_numbers(task, *prompted)
        reference, candidate = (
            np.asarray(numbers).reshape(len(texts), -1) for numbers in (expected, signatures[name](**given)[output])
        )
        tolerance = parity_tolerance(reference, np.ones(0), half=False)
        largest = max(largest, check_parity(f"{path.name}, {name}", reference, candidate, tolerance))
    return largest


def _serve_text(task: Task, served: Served, signature: TextSignature) -> Any:
    def answer(**texts: tf.Tensor) -> dict[str, tf.Tensor]:
        prompted = zip(signature.prompts, (texts[name] for name in signature.inputs), strict=True)
        return answer_texts(
            task, served, *(tf.strings.join([prompt, text]) if prompt else text for prompt, text in prompted)
        )

    return _serve(answer, {name: tf.TensorSpec((None,), tf.string, name=name) for name in signature.inputs})


def _serve(answer: Callable[..., dict[str, tf.Tensor]], specs: Mapping[str, tf.TensorSpec]) -> Any:
    """Makes a signature whose arguments are in the order of `specs`, and can be named."""

    @tf.function(input_signature=list(specs.values()), autograph=False)
    def serve(*inputs: tf.Tensor) -> dict[str, tf.Tensor]:
        return answer(**dict(zip(specs, inputs, strict=True)))

    return serve
