"""Whether a task takes a second text beside each text."""

from typing import TYPE_CHECKING

from components.dsl.errors import InputError

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


def takes_pairs(task: "Task") -> bool | None:
    """Whether a task takes pairs of texts or single ones; None where it takes both, or where nothing says it."""
    return {"required": True, "unused": False, "compared": None, "optional": task.pairs}[task.second_text]


def check_second(task: "Task", *, given: bool) -> None:
    """Checks that there are second texts if the task needs them, and none if it takes none.

    Raises:
        InputError: the task takes no second texts, or cannot do without.
    """
    pairs = takes_pairs(task)
    if pairs and not given:
        second = "context of each question" if task.second_text == "required" else "second text of each pair"
        raise InputError(f"--second must give the {second}, got none")
    if given and pairs is False:
        raise InputError("--second must be left out: the model takes single texts")
