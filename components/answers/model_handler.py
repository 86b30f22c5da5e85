"""A model handler of Beam's RunInference for tasks: `.tflite` and `.onnx` files, and Keras models."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from apache_beam.ml.inference.base import ModelHandler

from components.answers.model_inputs import find_unread
from components.dsl.errors import InputError
from keras_bert.core.folders import MODEL_FILE

if TYPE_CHECKING:
    from keras_bert.core.vector_codes import VectorCode
    from keras_bert.tasks.base import Task
    from keras_bert.tasks.embedding import PromptName


class TextBatch(NamedTuple):
    """Texts that are answered together.

    Attributes:
        texts: single texts, or the first of each pair; lists of words for a task that `answers_words`.
        seconds: the second text of each pair; None for single texts.
    """

    key: int
    texts: list[Any]
    seconds: list[str] | None


class AnsweredBatch(NamedTuple):
    """The answers to a `TextBatch`.

    Attributes:
        values: the values of `Task.answer_columns` for each text, in order.
        empty: how many texts had no token for the model.
        cut: how many rows were longer than the model reads.
    """

    key: int
    values: list[tuple[Any, ...]]
    empty: int
    cut: int


class TaskModelHandler(ModelHandler[TextBatch, AnsweredBatch, "Task"]):
    """Answers batches of texts with a task, one model a process; the task runs texts of similar length together.

    Args:
        model: a pushed version, a `.tflite` or `.onnx` file, or the folder of a Keras model.
        tasks: classes of tasks that are registered in the process that starts the pipeline, and maybe not in workers.
    """

    def __init__(
        self,
        model: str,
        tasks: Sequence[type["Task"]] = (),
        prompt: str | None = None,
        vectors: str | None = None,
        *,
        words: bool = False,
    ) -> None:
        # A `TextBatch` is a batch already, whose answers do not depend on the batches around it.
        super().__init__(max_batch_size=1)
        self._model, self._tasks, self._prompt, self._vectors = model, tuple(tasks), prompt, vectors
        self._words = words

    def load_model(self) -> "Task":
        """Loads the task."""
        from keras_bert.tasks.registry import TASKS

        for task in self._tasks:
            TASKS.setdefault(task.name, task)
        return open_task(Path(self._model), self._prompt, self._vectors, words=self._words)

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


def open_task(place: Path, prompt: str | None = None, vectors: str | None = None, *, words: bool = False) -> "Task":
    """Loads a pushed version, one of its files, or a trained model's folder; files need neither Keras nor TensorFlow.

    Args:
        place: the file or folder.
        prompt: the prompt in front of single texts, `query` or `passage`, see `Embedding.single_prompt`; None for the
            default of the task.
        vectors: the code of vectors in tables, `float32`, `int8` or `binary`, see `Embedding.vector_code`; likewise.
        words: whether a tagger gives each word its tag, see `TokenClassification.answers_words`.

    Raises:
        FileNotFoundError: there is no model.
        InputError: the task has no prompts, vectors or tags of words, and one of them is given.
        ValueError: a file is damaged.
    """
    from keras_bert.export import bundle
    from keras_bert.tasks import registry
    from keras_bert.tasks.embedding import Embedding
    from keras_bert.tasks.token_classification import TokenClassification

    task = registry.load(place) if (place / MODEL_FILE).is_file() else bundle.load_exported(place)
    if words:
        if not isinstance(task, TokenClassification):
            raise InputError(f"--words is only allowed for token_classification, got it for {task.name}")
        task.answers_words = True
    if isinstance(task, Embedding):
        task.single_prompt = cast("PromptName", prompt or task.single_prompt)
        task.vector_code = cast("VectorCode", vectors or task.vector_code)
        return task
    for option, value in (("prompt", prompt), ("vectors", vectors)):
        if value is not None:
            raise InputError(f"--{option} is only allowed for embedding and retrieval, got it for {task.name}")
    return task


def registered_tasks() -> tuple[type["Task"], ...]:
    """The tasks that were registered from outside of the library."""
    from keras_bert.tasks.registry import TASKS

    return tuple(task for task in TASKS.values() if not task.__module__.startswith("keras_bert."))
