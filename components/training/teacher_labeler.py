"""A teacher's outputs for rows, as records that hold them beside the rows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from components.dsl.arrays import Array
    from keras_bert.tasks.base import Task

    Batch = dict[str, Array]


class TeacherLabeler:
    """Runs a teacher on batches and writes its outputs, and labels where rows have none, into records.

    Args:
        task: the teacher, with labelled rows of its own.
    """

    def __init__(self, task: "Task") -> None:
        import tensorflow as tf

        from keras_bert.data.schemas import SCHEMAS

        objective, network = task.objective(), task.network()
        # Compiled for each length; called as it is, the model takes two and a half times as long.
        self._run = tf.function(lambda batch: objective.run(network, batch, training=False), autograph=False)
        self._objective = objective
        self._schema = {key: feature for key, feature in SCHEMAS[task.name].items() if feature.is_read}
        self._shape: tuple[int, ...] | None = None

    def describe(self) -> dict[str, Any]:
        """The description of the outputs in `features.json`, known after the first batch."""
        if self._shape is None:
            raise RuntimeError("TeacherLabeler.describe must be called after the first batch is labelled")
        objective = self._objective
        return {"shape": list(self._shape), "along": objective.has_token_outputs, "filling": objective.padding_output}

    def label(self, batch: "Batch") -> "Array":
        """The teacher's `TaskObjective.run` outputs (rows, ...)."""
        import numpy as np
        import tensorflow as tf

        tensors = {name: tf.constant(values) for name, values in batch.items()}
        outputs = np.asarray(self._run(tensors), np.float32)
        self._shape = outputs.shape[2 if self._objective.has_token_outputs else 1 :]
        return outputs

    def records(self, batch: "Batch", *, has_labels: bool) -> "Iterator[bytes]":
        """A record for each row.

        Labels that are not those of the rows are replaced by the teacher's.
        """
        import numpy as np

        from keras_bert.data.records import serialize

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
            by_token = self._objective.has_token_outputs
            features["teacher_answers"] = outputs[row, :length] if by_token else outputs[row : row + 1]
            yield serialize(features)
