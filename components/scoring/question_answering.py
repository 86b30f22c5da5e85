"""The scoring of answers to questions: F1 and exact match of SQuAD."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from components.scoring.base import Report, TaskScores, TaskScoring
from components.scoring.mistakes import Mistake, Mistakes, cut, worst_first
from components.scoring.row_statistics import RowStatistics
from components.sources.questions import Question

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task

_NAMES = ("f1", "exact")


class QuestionScoring(TaskScoring[Question]):
    """SQuAD's F1 and exact match: of v1.1 if each question has an answer, else of v2.0."""

    name = "question_answering"
    model_kind = "BERT that finds answers in a context"
    pipeline_tag = "question-answering"
    output = "`logits`: float32 (batch, length, 2), of the answer's first and last piece"

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        return _NAMES

    def texts(self, rows: Sequence[Question]) -> tuple[list[str], list[str]]:
        return [row.question for row in rows], [row.context for row in rows]

    def answer(self, task: "Task", rows: Sequence[Question]) -> list[str]:
        answers = task.predict([row.question for row in rows], [row.context for row in rows])
        return [answer.text for answer in answers]

    def score(self, rows: Sequence[Question], answers: Sequence[str], labels: Sequence[str]) -> TaskScores:
        from keras_bert.metrics.squad import score_v1, score_v2

        golds = {row.id: [text for text, _ in row.answers] for row in rows}
        given = {row.id: text for row, text in zip(rows, answers, strict=True)}
        if all(golds.values()):
            scores = score_v1(given, golds)
            metrics = {name: scores[name] / 100 for name in _NAMES}
            return TaskScores(metrics, {"answer": {**metrics, "support": len(golds)}})
        scores = score_v2(given, golds)
        report: Report = {}
        for prefix, kind in (("HasAns_", "answer"), ("NoAns_", "no answer")):
            if f"{prefix}total" in scores:
                part = {name: scores[prefix + name] / 100 for name in _NAMES}
                report[kind] = {**part, "support": scores[f"{prefix}total"]}
        return TaskScores({name: scores[name] / 100 for name in _NAMES}, report)

    def sample_measure(
        self, metric: str, rows: Sequence[Question], answers: Sequence[str], labels: Sequence[str]
    ) -> RowStatistics:
        from keras_bert.metrics.squad import score_v1, score_v2

        score = score_v1 if all(row.answers for row in rows) else score_v2
        golds = [[text for text, _ in row.answers] for row in rows]
        return RowStatistics.of_scores(
            score({"": answer}, {"": texts})[metric] / 100 for answer, texts in zip(answers, golds, strict=True)
        )

    def trivial(self, train: Sequence[Question], test: Sequence[Question]) -> tuple[str, list[str]]:
        """Never an answer: right about the questions that have none."""
        return "empty answer", [""] * len(test)

    def mistakes(
        self, rows: Sequence[Question], answers: Sequence[str], confidences: Sequence[float] | None
    ) -> Mistakes:
        from keras_bert.metrics.squad import exact_match, f1

        wrong = []
        for row, answer in zip(rows, answers, strict=True):
            right = [text for text, _ in row.answers] or [""]
            if not exact_match(answer, right):
                start = row.answers[0][1] if row.answers else max(0, row.context.find(answer))
                texts = (cut(row.question), cut(row.context, around=start))
                wrong.append(Mistake(texts, " / ".join(dict.fromkeys(right)), answer, f1(answer, right)))
        return Mistakes("F1", worst_first(wrong, rising=True), len(wrong), len(rows))
