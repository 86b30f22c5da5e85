"""Questions whose answers are spans of a context."""

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.dsl.errors import InputError
from components.examples.base import Encoding, TaskRows, row_batches, serialize_padded
from components.files.tables import Record
from components.sources.questions import QUESTION_FIELDS, Question, as_fields, parse_question

if TYPE_CHECKING:
    from keras_bert.tasks.answer_windows import TokenizedTexts


class QuestionRows(TaskRows[Question]):
    """A question, its context and its answers; none where the context does not hold one."""

    name = "question_answering"
    long_rows = "read in windows"
    fields = QUESTION_FIELDS
    plural_name = "contexts"

    def parse(self, record: Record) -> Question:
        return parse_question(record)

    def as_fields(self, row: Question) -> dict[str, Any]:
        return as_fields(row)

    def key(self, row: Question) -> tuple[str, ...]:
        return (row.context,)

    def texts(self, row: Question) -> tuple[str, ...]:
        return row.question, row.context

    def settings(self, encoding: Encoding, train: Sequence[Question]) -> dict[str, Any]:
        """The windows, and whether no answer is one: only where training has questions without (SQuAD v2.0)."""
        return {
            **super().settings(encoding, train),
            "stride": encoding.stride,
            "max_query_length": encoding.max_query_length,
            "null_threshold": 0.0 if any(not row.answers for row in train) else None,
        }

    def tuning_columns(self, rows: Sequence[Question]) -> tuple[Any, ...]:
        return [row.question for row in rows], [row.context for row in rows], [row.answers for row in rows]

    def records(self, rows: Sequence[Question], encoding: Encoding) -> Iterator[bytes]:
        """Records of windows, like those of `QuestionAnswering.examples`; of several answers the first one is used."""
        from keras_bert.tasks.answer_windows import (
            TokenizedTexts,
            answer_positions,
            cut_windows,
            drop_split_answers,
            window_features,
        )

        tokenizer, left_out = encoding.tokenizer, list[int]()
        windowing = {name: getattr(encoding, name) for name in ("max_length", "stride", "max_query_length")}
        for start, part in row_batches(rows):
            questions = TokenizedTexts.of(tokenizer, [row.question for row in part])
            contexts = TokenizedTexts.of(tokenizer, [row.context for row in part])
            windows = cut_windows(questions, contexts, **windowing, special=tokenizer.special_count(2))
            spans = _find_answers(part, contexts)
            windows = drop_split_answers(spans, windows)
            left_out.extend((start + np.setdiff1d(np.arange(len(part)), windows.rows)).tolist())
            if not len(windows.rows):
                continue
            inputs = window_features(questions, contexts, windows, tokenizer)
            row_arrays = {"positions": answer_positions(spans, windows), "row": start + windows.rows}
            yield from serialize_padded(inputs, {}, row_arrays)
        encoding.left_out.extend(left_out)
        answered = sum(bool(row.answers) for row in rows)
        if answered and len(left_out) == answered:
            rule = f"must stand whole in a window of max_length = {encoding.max_length} tokens"
            advice = "raise max_length, or lower stride or max_query_length"
            raise InputError(f"the answers of questions {rule}, got none of {answered} that does; {advice}")


def describe_left_out(left_out: Mapping[str, int], rows: Mapping[str, int], max_length: int) -> list[str]:
    """A warning for each split with questions whose answer stands whole in no window."""
    rule = f"have an answer that stands whole in no window of {max_length} tokens: no model learns or finds it"
    return [f"{count} of {rows[split]} {split} questions {rule}" for split, count in left_out.items() if count]


def _find_answers(questions: Sequence[Question], contexts: "TokenizedTexts") -> Any:
    """The first and the last token of each question's first answer (questions, 2); -1 without an answer."""
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
