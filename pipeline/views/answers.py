"""The answers of a pushed model, as lines for a terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from components.dsl.errors import InputError
from components.escaping import escape_field

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


def answer_lines(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> Iterator[str]:
    """The answers of a task, a line for each tuple of its `answer_fields`, separated by tabs.

    Control characters, tabs and line ends in labels and texts are escaped, so that they add no field or line.

    Args:
        task: a pushed model.
        texts: single texts or the first of each pair; questions, for question answering.
        seconds: the second text of each pair; contexts, for question answering.

    Raises:
        InputError: see `check_seconds`.
    """
    check_seconds(task, texts, seconds)
    for fields in task.answer_fields(texts, seconds):
        yield "\t".join(map(escape_field, fields))


def takes_pairs(task: "Task") -> bool | None:
    """Whether a task takes pairs of texts or single ones; None where it takes both, or where nothing says it."""
    return {"required": True, "unused": False, "compared": None, "optional": task.pairs}[task.second_text]


def check_seconds(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> None:
    """Checks that there is a second text for each text of a pair.

    Raises:
        InputError: the task takes no second texts, or cannot do without, or there are not as many as texts.
    """
    pairs = takes_pairs(task)
    if seconds is None:
        if pairs:
            second = "context of each question" if task.second_text == "required" else "second text of each pair"
            raise InputError(f"--second must give the {second}, got none")
    elif pairs is False:
        raise InputError("--second must be left out: the model takes single texts")
    elif len(seconds) != len(texts):
        raise InputError(f"--second must be given once for each TEXT ({len(texts)}), got {len(seconds)}")


def empty_lines(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> Iterator[str]:
    """A line for each text of which the tokenizer leaves nothing."""
    for name, side in (("text", texts), ("second text", seconds or ())):
        counts = task.count_tokens(side) if side else []
        for number, count in enumerate(counts, start=1):
            if count == task.tokenizer.special_count(1):
                yield f"{name} {number} is empty for the model: the answer does not depend on it"


def cut_lines(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> Iterator[str]:
    """A line for each text or pair that is longer than the model can read."""
    if not task.truncates:
        return
    if task.second_text == "compared" and seconds is not None:
        lengths = [max(pair) for pair in zip(task.count_tokens(texts), task.count_tokens(seconds), strict=True)]
    else:
        lengths = task.count_tokens(texts, seconds)
    for number, length in enumerate(lengths, start=1):
        if length > task.max_length:
            cut = length - task.max_length
            yield f"text {number}: {cut} of {length} tokens were cut, the model reads {task.max_length}"
