"""A teacher's outputs for rows, as records that hold them beside the rows."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.dsl.arrays import Array

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

    Batch = dict[str, Array]


class TeacherLabeler:
    """Runs teachers on batches and writes their mean outputs, and labels where rows have none, into records.

    `has_given` tells whether the rows say which of them have labels or answers in the user's data.
    """

    def __init__(self, tasks: "Sequence[Task]", *, has_given: bool = False) -> None:
        import tensorflow as tf

        from keras_bert.data.schemas import SCHEMAS

        objective, networks = tasks[0].objective(), [task.network() for task in tasks]
        # Compiled for each length; called as it is, a model takes two and a half times as long.
        self._run = tf.function(
            lambda batch: [objective.run(network, batch, training=False) for network in networks], autograph=False
        )
        self._objective, self._has_given = objective, has_given
        self._schema = {key: feature for key, feature in SCHEMAS[tasks[0].name].items() if feature.is_read}
        self._shape: tuple[int, ...] | None = None

    def describe(self) -> dict[str, Any]:
        """The description of the outputs in `features.json`, known after the first batch."""
        if self._shape is None:
            raise RuntimeError("TeacherLabeler.describe must be called after the first batch is labelled")
        objective = self._objective
        return {"shape": list(self._shape), "along": objective.has_token_outputs, "filling": objective.padding_output}

    def label(self, batch: "Batch") -> Array:
        """The teachers' mean `TaskObjective.run` outputs (rows, ...), see `TaskObjective.average`."""
        import tensorflow as tf

        tensors = {name: tf.constant(values) for name, values in batch.items()}
        results = [np.asarray(output, np.float32) for output in self._run(tensors)]
        outputs = results[0] if len(results) == 1 else self._objective.average(results)
        self._shape = outputs.shape[2 if self._objective.has_token_outputs else 1 :]
        return outputs

    def records(self, batch: "Batch", *, has_labels: bool) -> "Iterator[bytes]":
        """A record for each row.

        Labels that do not come from the rows are replaced by the teacher's.
        """
        from keras_bert.data.records import serialize
        from keras_bert.data.schemas import HAS_LABEL

        outputs = self.label(batch)
        labels = batch if has_labels else self._objective.labels_from(outputs, batch)
        lengths = batch["padding_mask"].sum(axis=1)
        second_lengths = batch["second_padding_mask"].sum(axis=1) if "second_padding_mask" in batch else lengths
        for row, length in enumerate(lengths):
            features: dict[str, Any] = {}
            for name, feature in self._schema.items():
                size = second_lengths[row] if name.startswith("second_") else length
                values = batch[name] if feature.kind == "tokens" else labels[name]
                if feature.kind == "number":
                    features[name] = float(values[row])
                else:
                    row_values = values[row, :size] if feature.kind in ("tokens", "labels") else values[row]
                    features[name] = np.reshape(row_values, -1).tolist()
            if self._has_given:
                features[HAS_LABEL] = [int(batch[HAS_LABEL][row]) if has_labels else 1]
                features["has_answers"] = [1]
            by_token = self._objective.has_token_outputs
            features["teacher_answers"] = outputs[row, :length] if by_token else outputs[row : row + 1]
            yield serialize(features)
