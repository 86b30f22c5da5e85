"""The outputs of one task of a joint model or file, and outputs that are computed once for all tasks."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from keras_bert.core.folders import INPUT_NAMES, LOGITS
from keras_bert.export.runtimes import Output, TFLiteModel
from keras_bert.tasks.checks import is_keras_model

# The signatures of one task in a `.tflite` file.
SIGNATURE = "{name}_{{length}}"


def open_part(runtime: Any, name: str, output_name: str) -> Any:
    """What runs one task of an exported file: in LiteRT its signatures, elsewhere the file, whose output is chosen."""
    if isinstance(runtime, TFLiteModel):
        return runtime.part(SIGNATURE.format(name=name))
    return OutputOf(runtime, name, output_name)


class OutputOf:
    """Runs a joint model or file and gives one output as the model of a task does, see `Runtime`.

    Args:
        model: what runs all tasks, with `max_length`, `output` and `predict_on_batch`.
        name: the task.
        output_name: the name of the output that the task reads; `LOGITS` for a model with one output.
    """

    def __init__(self, model: Any, name: str, output_name: str) -> None:
        self.name, self.max_length = model.name, model.max_length
        self._model, self._task, self._output_name = model, name, output_name
        self.output = self._pack(Output(tuple(model.output[name].shape)))

    def predict_on_batch(self, batch: Mapping[str, Any]) -> Any:
        """The output of the task for a batch of inputs by name."""
        return self._pack(self._model.predict_on_batch(batch)[self._task])

    def _pack(self, output: Any) -> Any:
        return output if self._output_name == LOGITS else {self._output_name: output}


class Remembered:
    """Runs a joint model once for equal rows, whichever tasks ask for them; the outputs of all rows stay in memory."""

    def __init__(self, model: Any) -> None:
        self.name, self.output, self._model = model.name, model.output, model
        self._names = [spec.name for spec in model.inputs] if is_keras_model(model) else None
        self.max_length = None if self._names else model.max_length
        self._rows: dict[bytes, dict[str, Any]] = {}

    def predict_on_batch(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """The outputs by name for a batch of inputs by name; outputs of tokens are as wide as the batch."""
        inputs = {name: np.asarray(batch[name]) for name in self._names or INPUT_NAMES if name in batch}
        # The mask of tokens that others do not attend to may be -1, see `plugins.late_interaction`.
        counts, width = np.count_nonzero(inputs["padding_mask"], axis=1), inputs["padding_mask"].shape[1]
        stacked = np.stack(list(inputs.values()), axis=1)
        keys = [row[:, :count].tobytes() for row, count in zip(stacked, counts, strict=True)]
        new = {key: row for row, key in enumerate(keys) if key not in self._rows}
        if new:
            rows = list(new.values())
            outputs = self._model.predict_on_batch({name: values[rows] for name, values in inputs.items()})
            for place, key in enumerate(new):
                self._rows[key] = {name: np.asarray(values)[place] for name, values in outputs.items()}
        answers = [self._rows[key] for key in keys]
        return {name: np.stack([_fit(answer[name], width) for answer in answers]) for name in answers[0]}


def _fit(output: Any, width: int) -> Any:
    """An output of one row; those of tokens (tokens, ...) cut or padded to a width."""
    if output.ndim < 2:
        return output
    return np.pad(output[:width], ((0, max(0, width - len(output))), *[(0, 0)] * (output.ndim - 1)))
