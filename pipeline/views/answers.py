"""The answers of a pushed model, as lines for a terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from components.answers.model_inputs import check_second, find_unread
from components.dsl.errors import InputError
from components.text.escaping import escape_field

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task


def answer_lines(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> Iterator[str]:
    """The answers of a task, a line for each tuple of its `answer_fields`, separated by tabs.

    Control characters, tabs and line ends in labels and texts are escaped, so that they add no field or line.
    """
    check_second(task, given=seconds is not None)
    if seconds is not None and len(seconds) != len(texts):
        raise InputError(f"--second must be given once for each TEXT ({len(texts)}), got {len(seconds)}")
    for fields in task.answer_fields(texts, seconds):
        yield "\t".join(map(escape_field, fields))


def note_lines(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None, before: int = 0) -> Iterator[str]:
    """A line for each text that leaves no token, and for each row that is longer than the model reads."""
    unread = find_unread(task, texts, seconds)
    for name, rows in zip(("text", "second text"), unread.empty, strict=True):
        for row in rows:
            yield f"{name} {before + row + 1} is empty for the model: the answer does not depend on it"
    for row, length in unread.cut.items():
        cut = length - task.max_length
        yield f"text {before + row + 1}: {cut} of {length} tokens were cut, the model reads {task.max_length}"
