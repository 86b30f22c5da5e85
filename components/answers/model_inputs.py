"""Models that answer, and the texts that they take: single ones or pairs, and what of them they ignore or truncate."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from components.dsl.errors import InputError
from keras_bert.core.folders import MODEL_FILE

if TYPE_CHECKING:
    from keras_bert.core.vector_codes import VectorCode
    from keras_bert.tasks.base import Task
    from keras_bert.tasks.embedding import PromptName


class UnreadTexts(NamedTuple):
    """The texts that the model ignores or truncates."""

    empty: tuple[list[int], list[int]]
    cut: dict[int, int]


def open_task(
    place: Path, prompt: str | None = None, vectors: str | None = None, *, words: bool = False, part: str | None = None
) -> "Task":
    """Loads a pushed version, one of its files, or a trained model's folder; files need neither Keras nor TensorFlow.

    `prompt` is that of single texts, see `Embedding.single_prompt`, `vectors` the code of vectors in tables, see
    `Embedding.vector_code`, and `words` whether a tagger gives each word its tag. None is the default of the task.
    `part` names a task inside of a model of several.
    """
    from keras_bert.export import bundle
    from keras_bert.tasks import registry
    from keras_bert.tasks.embedding import Embedding
    from keras_bert.tasks.token_classification import TokenClassification

    task = registry.load(place) if (place / MODEL_FILE).is_file() else bundle.load_exported(place)
    if part is not None:
        task = task.part(part)
    if words:
        if not isinstance(task, TokenClassification):
            raise InputError(f"--words is only allowed for token_classification, got it for {task.name}")
        task.answers_words = True
    # A task of vectors that compares no texts, as one of labels, has answers of another kind.
    if isinstance(task, Embedding) and task.second_text == "compared":
        task.single_prompt = cast("PromptName", prompt or task.single_prompt)
        task.vector_code = cast("VectorCode", vectors or task.vector_code)
        task.keeps_space = True
        return task
    for option, value in (("prompt", prompt), ("vectors", vectors)):
        if value is not None:
            raise InputError(f"--{option} is only allowed for embedding and retrieval, got it for {task.name}")
    return task


def find_unread(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> UnreadTexts:
    """Tokenizes texts or pairs, and finds texts that the model ignores or truncates."""
    counts = [task.count_tokens(side) if side else [] for side in (texts, seconds or ())]
    special = task.tokenizer.special_count(1)
    empty = tuple([row for row, count in enumerate(side) if count == special] for side in counts)
    if not task.truncates:
        lengths = []
    elif seconds is None:
        lengths = counts[0]
    elif task.second_text == "compared":
        lengths = [max(pair) for pair in zip(*counts, strict=True)]
    else:
        both = task.tokenizer.special_count(2) - 2 * special
        lengths = [sum(pair) + both for pair in zip(*counts, strict=True)]
    return UnreadTexts(
        (empty[0], empty[1]), {row: length for row, length in enumerate(lengths) if length > task.max_length}
    )


def takes_pairs(task: "Task") -> bool | None:
    """Returns True if a task takes pairs, False for single texts, None if it takes both or this is unknown."""
    return {"required": True, "unused": False, "compared": None, "optional": task.pairs}[task.second_text]


def check_second(task: "Task", *, given: bool, name: str = "--second") -> None:
    """Checks that there are second texts if the task needs them, and none if it takes none; `name` is their option."""
    pairs = takes_pairs(task)
    if pairs and not given:
        raise InputError(f"{name} must give the {task.second_name}, got none")
    if given and pairs is False:
        raise InputError(f"{name} must be left out: the model takes single texts")
