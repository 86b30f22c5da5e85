"""Questions whose answers are spans of a context."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from components.dsl.errors import InputError
from components.examples.base import Encoding, TaskRows, parts, serialize_padded
from components.examples.null_thresholds import tune_threshold
from components.files.record_files import Record
from components.sources.questions import QUESTION_FIELDS, Question, as_fields, parse_question

if TYPE_CHECKING:
    from keras_bert.tasks.answer_windows import TokenizedTexts
    from keras_bert.tasks.base import Task


class QuestionRows(TaskRows[Question]):
    """A question, its context and its answers; none where the context does not hold one."""

    name = "question_answering"
    fields = QUESTION_FIELDS
    several = "contexts"

    def parse(self, record: Record) -> Question:
        """The question of a record."""
        return parse_question(record)

    def as_fields(self, row: Question) -> dict[str, Any]:
        """The record of a question."""
        return as_fields(row)

    def key(self, row: Question) -> tuple[str, ...]:
        """The context."""
        return (row.context,)

    def texts(self, row: Question) -> tuple[str, ...]:
        """The question and its context."""
        return row.question, row.context

    def settings(self, encoding: Encoding, train: Sequence[Question]) -> dict[str, Any]:
        """The windows, and whether no answer is one: only where training has questions without (SQuAD v2.0)."""
        return {
            **super().settings(encoding, train),
            "stride": encoding.stride,
            "max_query_length": encoding.max_query_length,
            "null_threshold": 0.0 if any(not row.answers for row in train) else None,
        }

    def tunes(self, task: "Task") -> bool:
        """Whether a question may have no answer."""
        return getattr(task, "null_threshold", None) is not None

    def tune(self, task: "Task", validation: Sequence[Question]) -> None:
        """Sets the score difference above which no answer is given."""
        from keras_bert.tasks.question_answering import QuestionAnswering

        assert isinstance(task, QuestionAnswering)
        tune_threshold(task, validation)

    def records(self, rows: Sequence[Question], encoding: Encoding) -> Iterator[bytes]:
        """Records of windows, as `QuestionAnswering.examples` has them; of several answers the first one counts.

        Raises:
            InputError: an answer holds no token.
        """
        from keras_bert.tasks.answer_windows import TokenizedTexts, answer_positions, cut_windows, window_features

        tokenizer = encoding.tokenizer
        windowing = {name: getattr(encoding, name) for name in ("max_length", "stride", "max_query_length")}
        for start, part in parts(rows):
            questions = TokenizedTexts.of(tokenizer, [row.question for row in part])
            contexts = TokenizedTexts.of(tokenizer, [row.context for row in part])
            windows = cut_windows(questions, contexts, **windowing, special=tokenizer.special_count(2))
            spans = _find_answers(part, contexts)
            inputs = window_features(questions, contexts, windows, tokenizer)
            beside = {"positions": answer_positions(spans, windows), "row": start + windows.rows}
            yield from serialize_padded(inputs, {}, beside)


def _find_answers(questions: Sequence[Question], contexts: "TokenizedTexts") -> Any:
    """The first and the last token of each question's first answer (questions, 2); -1 without an answer."""
    import numpy as np

    from keras_bert.tasks.answer_windows import find_tokens

    spans = []
    for row, question in enumerate(questions):
        text, start = question.answers[0] if question.answers else ("", 0)
        context = dataclasses.replace(contexts, splits=contexts.splits[row : row + 2])
        try:
            spans.append(find_tokens(context, [(start, start + len(text)) if text else None]))
        except ValueError:
            rule = f"the answer {text!r} must hold a token, got only what the tokenizer leaves out"
            raise InputError(f"question {question.id!r}: {rule}") from None
    return np.concatenate(spans)
