"""Questions whose answers are spans of a context."""

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from components.dsl.errors import InputError
from components.examples.base import Encoding, TaskRows, row_batches, serialize_padded
from components.files.tables import Record
from components.sources.questions import QUESTION_FIELDS, Question, as_fields, parse_question

if TYPE_CHECKING:
    from keras_bert.tasks.answer_spans import Answer
    from keras_bert.tasks.answer_windows import TokenizedTexts
    from keras_bert.tasks.base import Task
    from keras_bert.tasks.question_answering import QuestionAnswering


class QuestionRows(TaskRows[Question]):
    """A question, its context and its answers; none where the context does not hold one."""

    name = "question_answering"
    long_rows = "read in windows"
    fields = QUESTION_FIELDS
    plural_name = "contexts"

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
        """Records of windows, like those of `QuestionAnswering.examples`; of several answers the first one is used."""
        import numpy as np

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


def tune_threshold(task: "QuestionAnswering", questions: Sequence[Question]) -> None:
    """Sets the task's `null_threshold` to the one with the best F1 on held-out questions."""
    # Without a threshold every question gets an answer, whose score the threshold is compared with.
    task.null_threshold = None
    answers = task.predict([row.question for row in questions], [row.context for row in questions])
    task.null_threshold = find_threshold(questions, answers)


def find_threshold(questions: Sequence[Question], answers: Sequence["Answer"]) -> float:
    """The `null_threshold` with the best F1, moved towards 0 as far as few questions support it.

    The best one, as the official script of SQuAD v2.0 finds it, is multiplied by n / (n + support). n is the number of
    questions with an answer or of questions without one, whichever is smaller. Cross-validation chooses the support, as
    in `keras_bert.metrics.label_thresholds.choose_thresholds`. `answers` are those without a threshold.
    """
    import numpy as np

    from keras_bert.metrics.label_thresholds import SUPPORTS, best_support, split_folds
    from keras_bert.metrics.squad import score_v2

    texts = {row.id: answer.text for row, answer in zip(questions, answers, strict=True)}
    differences = {row.id: answer.null_score_difference for row, answer in zip(questions, answers, strict=True)}
    golds = [(row.id, [text for text, _ in row.answers]) for row in questions]

    def find(rows: Iterable[int]) -> list[float]:
        part = dict(golds[row] for row in rows)
        silent = sum(not answers for answers in part.values())
        count = min(silent, len(part) - silent)
        best = score_v2(texts, part, differences)["best_f1_thresh"] if count else 0.0
        return [best * (count / max(count + support, 1)) + 0.0 for support in SUPPORTS]

    totals = np.zeros(len(SUPPORTS))
    for learned, held in split_folds(len(questions)):
        part = dict(golds[row] for row in held)
        totals += [len(part) * score_v2(texts, part, differences, threshold)["f1"] for threshold in find(learned)]
    return find(range(len(questions)))[best_support(totals)]
