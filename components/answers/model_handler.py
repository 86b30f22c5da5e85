"""A model handler of Beam's RunInference for tasks: `.tflite` and `.onnx` files, and Keras models."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from apache_beam.ml.inference.base import ModelHandler

from components.answers.model_inputs import find_unread, open_task

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


class TextBatch(NamedTuple):
    """Texts that are answered together: single ones, or pairs; lists of words for a task that `answers_words`."""

    key: int
    texts: list[Any]
    seconds: list[str] | None


class AnsweredBatch(NamedTuple):
    """The values of `Task.answer_columns` for each text of a `TextBatch`, and the counts of `UnreadTexts`."""

    key: int
    values: list[tuple[Any, ...]]
    empty: int
    cut: int


class TaskModelHandler(ModelHandler[TextBatch, AnsweredBatch, "Task"]):
    """Answers batches of texts with a task, one model a process; the task runs texts of similar length together.

    `tasks` are classes that are registered in the process that starts the pipeline, and maybe not in workers. `options`
    are those of `open_task`.
    """

    def __init__(self, model: str, tasks: Sequence[type["Task"]] = (), **options: Any) -> None:
        # A `TextBatch` is a batch already, whose answers do not depend on the batches around it.
        super().__init__(max_batch_size=1)
        self._model, self._tasks, self._options = model, tuple(tasks), options

    def load_model(self) -> "Task":
        """Loads the task."""
        from keras_bert.tasks.registry import TASKS

        for task in self._tasks:
            TASKS.setdefault(task.name, task)
        return open_task(Path(self._model), **self._options)

    def run_inference(
        self, batch: Sequence[TextBatch], model: "Task", inference_args: dict[str, Any] | None = None
    ) -> Iterator[AnsweredBatch]:
        """The answers to each batch of texts."""
        for key, texts, seconds in batch:
            unread = find_unread(model, [text if isinstance(text, str) else " ".join(text) for text in texts], seconds)
            values = list(model.answer_values(texts, seconds))
            yield AnsweredBatch(key, values, len({*unread.empty[0], *unread.empty[1]}), len(unread.cut))

    def get_num_bytes(self, batch: Sequence[TextBatch]) -> int:
        """The characters of the texts; Beam would pickle them to count."""
        return sum(len(text) for _, *sides in batch for side in sides for text in side or ())

    def get_metrics_namespace(self) -> str:
        """The namespace of Beam's metrics of this handler."""
        return "TaskModelHandler"


def registered_tasks() -> tuple[type["Task"], ...]:
    """The tasks that were registered from outside of the library."""
    from keras_bert.tasks.registry import TASKS

    return tuple(task for task in TASKS.values() if not task.__module__.startswith("keras_bert."))
