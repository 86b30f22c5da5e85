"""Runs exported files in LiteRT and ONNX Runtime, without TensorFlow and Keras, and SavedModels in TensorFlow."""

import copy
import os
import re
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from keras_bert.core.folders import (
    END_LOGITS,
    LOGITS,
    SAVED_MODEL_FILE,
    SENTENCE_VECTOR,
    START_LOGITS,
    temporary_folder,
)
from keras_bert.export.files import find_opener

# Our name of an input -> transformers' name.
INPUTS = {"token_ids": "input_ids", "padding_mask": "attention_mask", "segment_ids": "token_type_ids"}
OURS = {theirs: ours for ours, theirs in INPUTS.items()}


def our_outputs(outputs: Mapping[str, Any], pair: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Renames outputs to our names, if they have others; `pair` makes one (batch, length, 2) of two."""
    if START_LOGITS in outputs:
        return {LOGITS: pair(outputs[START_LOGITS], outputs[END_LOGITS])}
    return {"embedding": outputs[SENTENCE_VECTOR]} if SENTENCE_VECTOR in outputs else dict(outputs)


def name_outputs(outputs: Any, name: str) -> dict[str, Any]:
    """The outputs of a model by name: a single one gets `name`."""
    return dict(outputs) if isinstance(outputs, Mapping) else {name: outputs}


Array = np.ndarray[Any, Any]

SIGNATURE = "serve_{length}"
LENGTH = re.compile(SIGNATURE.format(length=r"(\d+)"))
# The output of a classifier in a file for MediaPipe; other files have logits.
PROBABILITIES = "probabilities"
# Signatures of files with text as input, and the names of their inputs.
TEXT_SIGNATURES = {"serve_text": ("text",), "serve_pair": ("text", "second")}
# The signature of a SavedModel that takes token ids.
IDS_SIGNATURE = "serve_ids"


class Output(NamedTuple):
    """The description of an output: the size of each axis; None or a name where any size is allowed."""

    shape: tuple[Any, ...]


class FixedLengthModel:
    """Runs a file with one signature per length, the shortest first; a task uses it in place of a Keras model.

    `output` is the `Output` of the logits; outputs with other names are a dictionary by name.
    """

    name: ClassVar[str]

    def __init__(
        self, signatures: Mapping[int, Callable[..., Any]], names: Iterable[str], shapes: dict[str, tuple[int, ...]]
    ) -> None:
        """Takes the function of each length, the names of their inputs, and the shapes of their outputs."""
        self.lengths = tuple(sorted(signatures))
        self.max_length = self.lengths[-1]
        self._signatures, self._names, self._shapes = signatures, sorted(names), shapes
        # An interpreter has one set of buffers, for inputs and outputs: threads take turns.
        self._turn = threading.Lock()
        self.output = _as_keras_output({name: Output((None, *shape[1:])) for name, shape in shapes.items()})

    def predict_on_batch(self, batch: Mapping[str, Array]) -> Any:
        """The outputs of a Keras model for a batch of inputs by name; other entries of the batch are ignored."""
        return self(**{name: batch[name] for name in self._names})

    def __call__(self, **inputs: Array) -> Any:
        """Inputs (batch, length), any integers -> logits (batch, ...), or outputs with other names by their names.

        Each row runs in the shortest signature for its tokens, without padding. Outputs per token are 0 at padding.
        """
        rows = [self._run(dict(zip(inputs, row, strict=True))) for row in zip(*inputs.values(), strict=True)]
        width = inputs["token_ids"].shape[1]
        return _as_keras_output({name: self._stack(name, [row[name] for row in rows], width) for name in self._shapes})

    def _run(self, row: dict[str, Array]) -> dict[str, Array]:
        """Runs one row, inputs (length,); outputs per token are as long as the row without its padding.

        A padding mask of -1 is that of a token that no other one attends to, and that has outputs.
        """
        tokens = count_tokens(row["padding_mask"])
        length = next((length for length in self.lengths if tokens <= length), None)
        if length is None:
            raise ValueError(f"a row must have at most {self.max_length} tokens, got {tokens}")
        inputs = {name: np.zeros((1, length), np.int32) for name in row}
        for name, values in row.items():
            inputs[name][0, :tokens] = np.maximum(values[:tokens], 0) if name == "padding_mask" else values[:tokens]
        outputs = self._answer(length, inputs)
        return {name: value[0, :tokens] if self._is_per_token(name) else value[0] for name, value in outputs.items()}

    def _answer(self, length: int, inputs: dict[str, Array]) -> Mapping[str, Array]:
        """Runs a signature, inputs (1, length)."""
        try:
            with self._turn:
                outputs: dict[str, Array] = self._signatures[length](**inputs)
        except RuntimeError as error:
            hint = "a vocabulary with more tokens than the model's is a likely cause"
            raise ValueError(f"{self.name} cannot run the model: {_in_one_line(error)}; {hint}") from error
        return outputs

    def _is_per_token(self, name: str) -> bool:
        return len(self._shapes[name]) == 3

    def _stack(self, name: str, rows: list[Array], width: int) -> Array:
        if not self._is_per_token(name):
            return np.stack(rows)
        stacked = np.zeros((len(rows), width, self._shapes[name][-1]), np.float32)
        for number, row in enumerate(rows):
            stacked[number, : len(row)] = row
        return stacked


class TFLiteModel(FixedLengthModel):
    """Runs a `.tflite` file in LiteRT, with one signature per length."""

    name = "LiteRT"

    def __init__(self, path: str | os.PathLike[str], num_threads: int = 1) -> None:
        from ai_edge_litert.interpreter import Interpreter

        try:
            interpreter = Interpreter(model_path=os.fspath(path), num_threads=num_threads)
        except ValueError as error:
            raise ValueError(f"{path} must be a .tflite file: {_in_one_line(error)}") from error
        self._path, self._interpreter = path, interpreter
        self._open(SIGNATURE)

    def part(self, signature: str) -> "TFLiteModel":
        """The signatures of another format, such as `mood_{length}`; they share buffers with these and take turns."""
        part = copy.copy(self)
        part._open(signature)
        part._turn = self._turn
        return part

    def _open(self, signature: str) -> None:
        names, pattern = self._interpreter.get_signature_list(), signature.format(length=r"(\d+)")
        runners = {
            int(match[1]): self._interpreter.get_signature_runner(name)
            for name in names
            if (match := re.fullmatch(pattern, name))
        }
        if not runners:
            raise ValueError(f"{self._path} must have signatures named {signature}, got {list(names)}")
        longest = runners[max(runners)]
        details = longest.get_output_details()
        shapes = {name: tuple(int(size) for size in details[name]["shape"]) for name in details}
        super().__init__(runners, longest.get_input_details(), shapes)


class LogProbabilityClassifier:
    """Runs a classifier file that returns probabilities, such as MediaPipe's, and converts them to logits.

    With `independent` each label has a probability of its own; otherwise the probabilities of a row add up to 1.
    """

    def __init__(self, runtime: TFLiteModel, *, independent: bool = False) -> None:
        self._runtime, self._independent = runtime, independent
        self.name, self.max_length = runtime.name, runtime.max_length
        self.output = runtime.output[PROBABILITIES]

    def predict_on_batch(self, batch: Mapping[str, Array]) -> Array:
        """Returns logits (batch, labels) float32 for a batch of inputs by name: logarithms of probabilities, or odds.

        Logarithms of probabilities are logits: their softmax is the probabilities again, as is the sigmoid of log odds.
        """
        return logits_of(self.predict_probabilities(batch), independent=self._independent)

    def predict_probabilities(self, batch: Mapping[str, Array]) -> Array:
        """Returns the probabilities (batch, labels) float32 as the file gives them."""
        return np.asarray(self._runtime.predict_on_batch(batch)[PROBABILITIES])


def logits_of(probabilities: Array, *, independent: bool) -> Array:
    """Probabilities (..., labels) -> float32 logits with these as softmax, or as sigmoid if labels are independent."""
    smallest = np.finfo(np.float32)
    logs = np.log(np.maximum(probabilities, smallest.tiny))
    odds = logs - np.log(np.maximum(1 - probabilities, smallest.epsneg)) if independent else logs
    return np.asarray(odds, np.float32)


class OnnxModel:
    """Runs an `.onnx` file in ONNX Runtime; a task uses it in place of a Keras model.

    `max_length` is the longest row in tokens, which the file does not contain.
    """

    name = "ONNX Runtime"

    def __init__(self, path: str | os.PathLike[str], max_length: int, num_threads: int = 1) -> None:
        self._path, self._session = path, open_session(path, num_threads)
        self.inputs = {
            OURS.get(given.name, given.name): (given.name, np.int64 if "int64" in given.type else np.int32)
            for given in self._session.get_inputs()
        }
        self._names = [output.name for output in self._session.get_outputs()]
        self.max_length = max_length
        outputs = {output.name: Output(tuple(output.shape)) for output in self._session.get_outputs()}
        self.output = _as_keras_output(our_outputs(outputs, lambda start, _: Output((*start.shape, 2))))

    def predict_on_batch(self, batch: Mapping[str, Array]) -> Any:
        """The outputs of a Keras model for a batch of inputs by name; other entries of the batch are ignored."""
        return self(**{name: batch[name] for name in self.inputs})

    def __call__(self, **inputs: Array) -> Any:
        """As `TFLiteModel`, but outputs per token have values for padding, too.

        Raises:
            ValueError: the runtime refuses the inputs, or an id is negative, which ONNX counts from the table's end.
        """
        if (lowest := int(np.min(inputs["token_ids"], initial=0))) < 0:
            raise ValueError(f"{self._path} needs token ids of at least 0, got {lowest}")
        given = {self.inputs[name][0]: np.asarray(values, self.inputs[name][1]) for name, values in inputs.items()}
        try:
            outputs = dict(zip(self._names, self._session.run(self._names, given), strict=True))
        except Exception as error:
            # The runtime's errors have no common class.
            raise ValueError(f"{self._path} cannot answer: {_in_one_line(error)}") from error
        return _as_keras_output(our_outputs(outputs, lambda start, end: np.stack([start, end], axis=-1)))


def open_session(path: str | os.PathLike[str], num_threads: int = 1, profile: str = "") -> Any:
    """Opens an `.onnx` file in ONNX Runtime on the CPU.

    With `profile`, the prefix of a file, the session's `end_profiling` writes the times of all nodes.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = num_threads
    options.inter_op_num_threads = 1
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = profile
    try:
        return onnxruntime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        # The runtime's errors have no common class.
        raise ValueError(f"{path} must be an .onnx file: {_in_one_line(error)}") from error


class SavedModel:
    """Runs a SavedModel, given its `saved_model.pb`, in TensorFlow; a task uses it in place of a Keras model."""

    name = "TensorFlow"

    def __init__(self, path: str | os.PathLike[str], max_length: int) -> None:
        # Kept, because its functions stop working without the object that holds their variables.
        self._loaded = load_saved_model(path)
        if IDS_SIGNATURE not in self._loaded.signatures:
            raise ValueError(f"{path} must have a signature {IDS_SIGNATURE}, got {list(self._loaded.signatures)}")
        self._serve = self._loaded.signatures[IDS_SIGNATURE]
        self._names = sorted(self._serve.structured_input_signature[1])
        self.max_length = max_length
        outputs = self._serve.structured_outputs
        self.output = _as_keras_output({name: Output(tuple(outputs[name].shape)) for name in outputs})

    def predict_on_batch(self, batch: Mapping[str, Array]) -> Any:
        """The outputs of a Keras model for a batch of inputs by name; other entries of the batch are ignored."""
        return self(**{name: batch[name] for name in self._names})

    def __call__(self, **inputs: Array) -> Any:
        """As `OnnxModel`."""
        import tensorflow as tf

        given = {name: tf.constant(values, tf.int32) for name, values in inputs.items()}
        return _as_keras_output({name: output.numpy() for name, output in self._serve(**given).items()})


def load_saved_model(path: str | os.PathLike[str]) -> Any:
    """Loads the SavedModel of a `saved_model.pb`, as `tf.saved_model.load` does."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401, registers its operations

    from keras_bert.export.saved_operations import check_operations

    with temporary_folder() as folder:
        # TensorFlow reads its path as a pattern.
        place = Path(folder) / "model"
        place.symlink_to(Path(path).absolute().parent)
        try:
            check_operations(Path(path).read_bytes())
            return tf.saved_model.load(str(place))
        except Exception as error:
            # TensorFlow's errors have no common class.
            raise ValueError(f"{path} must be of a SavedModel: {_in_one_line(error)}") from error


def open_file(
    file: str | os.PathLike[str], max_length: int, num_threads: int = 1
) -> FixedLengthModel | OnnxModel | SavedModel:
    """Opens an exported file in its runtime; `max_length` is for files that do not contain it, `.onnx` and SavedModels.

    A SavedModel runs on the threads of TensorFlow, a file in the format of a plug-in as the plug-in says.
    """
    if Path(file).name == SAVED_MODEL_FILE:
        return SavedModel(file, max_length)
    if os.fspath(file).endswith(".onnx"):
        return OnnxModel(file, max_length, num_threads)
    if not os.fspath(file).endswith(".tflite") and (open_format := find_opener(Path(file))) is not None:
        return open_format(Path(file))
    return TFLiteModel(file, num_threads)


def _in_one_line(error: Exception) -> str:
    """Joins a runtime's message, which may have a line for each operation, into one line."""
    return " ".join(str(error).split())[:_LONGEST_REASON]


_LONGEST_REASON = 500


def _as_keras_output(outputs: dict[str, Any]) -> Any:
    """Returns only the logits, as Keras models of most tasks do, or outputs with other names by their names."""
    return outputs.get(LOGITS, outputs)


def count_tokens(padding_mask: Array) -> int:
    """Counts the tokens up to the last one that is not padding; at least 1."""
    filled = np.flatnonzero(padding_mask)
    return int(filled[-1]) + 1 if filled.size else 1
