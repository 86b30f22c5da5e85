"""A teacher's answers to rows, as records that hold them beside the rows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from keras_bert.tasks.base import Task

    Array = np.ndarray[Any, Any]
    Batch = dict[str, Array]


class AskedTeacher:
    """A teacher that is asked, and what its answers are as records.

    Args:
        task: of the teacher.
        name: a key of `SCHEMAS`.
    """

    def __init__(self, task: "Task", name: str) -> None:
        import tensorflow as tf

        from keras_bert.data.schemas import SCHEMAS

        objective, network = task.objective(), task.network()
        # Compiled for each length; called as it is, the model takes two and a half times as long.
        self._run = tf.function(lambda batch: objective.run(network, batch, training=False), autograph=False)
        self._task = name
        self._schema = {key: feature for key, feature in SCHEMAS[name].items() if feature.is_read}
        self._along = name in ("token_classification", "question_answering")
        self._shape: tuple[int, ...] | None = None

    def described(self) -> dict[str, Any]:
        """What `features.json` says of the answers."""
        from keras_bert.layers.attention import MASK_BIAS

        if self._shape is None:
            raise RuntimeError("the teacher must have been asked before its answers are described")
        # An answer never begins or ends at padding.
        filling = MASK_BIAS if self._task == "question_answering" else 0.0
        return {"shape": list(self._shape), "along": self._along, "filling": filling}

    def answer(self, batch: "Batch") -> "Array":
        """What `TaskObjective.run` gives for the teacher (rows, ...)."""
        import numpy as np
        import tensorflow as tf

        tensors = {name: tf.constant(values) for name, values in batch.items()}
        answers = np.asarray(self._run(tensors), np.float32)
        self._shape = answers.shape[2 if self._along else 1 :]
        return answers

    def records(self, batch: "Batch", *, has_labels: bool) -> "Iterator[bytes]":
        """A record a row."""
        import numpy as np

        from keras_bert.data.records import serialize

        answers = self.answer(batch)
        labels = batch if has_labels else self._labels(answers, batch)
        lengths = batch["padding_mask"].sum(axis=1)
        others = batch["second_padding_mask"].sum(axis=1) if "second_padding_mask" in batch else lengths
        for row, length in enumerate(lengths):
            features: dict[str, Any] = {}
            for name, feature in self._schema.items():
                size = others[row] if name.startswith("second_") else length
                values = batch[name] if feature.kind == "tokens" else labels[name]
                if feature.kind == "number":
                    features[name] = float(values[row])
                else:
                    of_row = values[row, :size] if feature.kind in ("tokens", "labels") else values[row]
                    features[name] = np.reshape(of_row, -1).tolist()
            features["teacher_answers"] = answers[row, :length] if self._along else answers[row : row + 1]
            yield serialize(features)

    def _labels(self, answers: "Array", batch: "Batch") -> "Batch":
        """What the teacher says, in the place of labels."""
        import numpy as np

        if self._task == "classification":
            return {"label": answers.argmax(axis=1)}
        if self._task == "token_classification":
            # Words are where they were.
            return {"label": np.where(batch["label"] < 0, batch["label"], answers.argmax(axis=2))}
        if self._task == "question_answering":
            inside = np.where(batch["padding_mask"][..., None] == 1, answers, -np.inf)
            return {"positions": inside.argmax(axis=1)}
        return {"value": answers.reshape(len(answers))}
