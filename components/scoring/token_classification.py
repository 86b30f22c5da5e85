"""The scoring of tags: precision, recall and F1 of entities, or accuracy of other tags."""

import dataclasses
import itertools
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from components.scoring.base import Baselines, LabelLogits, TaskScores, TaskScoring
from components.scoring.classification import OF_LABELS, score_labels
from components.scoring.mistakes import Mistake, Mistakes, cut_words, worst_first
from components.scoring.row_statistics import RowStatistics, divide, label_statistics
from components.sources.tagged_words import Sentence
from components.sources.teacher_columns import most_likely_label

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task
    from keras_bert.tasks.entities import Entity

_OF_ENTITIES = ("f1", "precision", "recall")
LOOKUP = "most frequent tag of each word"


class TaggedScoring(TaskScoring[Sentence]):
    """Entities found, all types counted together; where tags mark no entities, accuracy and macro F1 over the words."""

    name = "token_classification"
    model_kind = "BERT tagger of words"
    pipeline_tag = "token-classification"
    output = "`logits`: float32 (batch, length, {labels}), of a word's first piece"
    has_probabilities = True
    has_variants = True

    def metrics(self, labels: Sequence[str]) -> tuple[str, ...]:
        return _OF_ENTITIES if _are_entities(labels) else OF_LABELS

    def texts(self, rows: Sequence[Sentence]) -> tuple[list[str], None]:
        return [" ".join(row.words) for row in rows], None

    def answer(self, task: "Task", rows: Sequence[Sentence]) -> list[list[str]]:
        from keras_bert.tasks.token_classification import TokenClassification

        assert isinstance(task, TokenClassification)
        return task.predict_tags([row.words for row in rows])

    def variants(
        self, task: "Task", rows: Sequence[Sentence], answers: Sequence[Sequence[str]]
    ) -> dict[str, list[list[str]]]:
        """The entities that the text of each sentence gets, where marks inside of words are words of their own."""
        from keras_bert.tasks.token_classification import TokenClassification

        assert isinstance(task, TokenClassification)
        if not task.predicts_records:
            return {}
        in_texts = task.predict(self.texts(rows)[0])
        return {"read as text": [tag_words(row.words, entities) for row, entities in zip(rows, in_texts, strict=True)]}

    def logits(self, task: "Task", rows: Sequence[Sentence]) -> LabelLogits:
        from keras_bert.tasks.token_classification import TokenClassification

        assert isinstance(task, TokenClassification)
        places, logits = task.word_logits([row.words for row in rows])
        tags = [tag for row in rows for tag in row.tags]
        starts = np.cumsum([0, *(len(row.words) for row in rows)])
        numbers = np.searchsorted(starts, places, side="right") - 1
        return LabelLogits(logits, [tags[place] for place in places], numbers, places - starts[numbers])

    def relabel(self, row: Sentence, classes: Mapping[int, str], labels: Sequence[str]) -> Sentence:
        return row._replace(tags=tuple(classes.get(place, tag) for place, tag in enumerate(row.tags)))

    def compare_labels(self, row: Sentence, other: Sentence, value: float | None) -> Mistake:
        return Mistake((), "", "", value, cut_words(list(zip(row.words, row.tags, other.tags, strict=True))))

    def score(self, rows: Sequence[Sentence], answers: Sequence[Sequence[str]], labels: Sequence[str]) -> TaskScores:
        from keras_bert.metrics.entities import entity_scores

        true = [row.tags for row in rows]
        if not _are_entities(labels):
            flat = [[tag for sentence in side for tag in sentence] for side in (true, answers)]
            scores_of_words = score_labels(flat[0], flat[1], labels)
            return TaskScores({name: scores_of_words.metrics[name] for name in OF_LABELS}, scores_of_words.report)
        scores = entity_scores(true, answers)
        metrics = {name: float(getattr(scores.micro, name)) for name in _OF_ENTITIES}
        return TaskScores(metrics, {label: dataclasses.asdict(score) for label, score in scores.types.items()})

    def given_answers(self, rows: Sequence[Sentence], labels: Sequence[str]) -> list[list[str]]:
        size = len(labels)
        return [
            [
                most_likely_label(row.teacher.numbers[size * word : size * (word + 1)], labels)
                for word in range(len(row.words))
            ]
            for row in rows
            if row.teacher
        ]

    def mistakes(
        self, rows: Sequence[Sentence], answers: Sequence[Sequence[str]], confidences: Sequence[float] | None
    ) -> Mistakes:
        wrong = []
        for row, tags in zip(rows, answers, strict=True):
            count = sum(true != got for true, got in zip(row.tags, tags, strict=True))
            if count:
                words = cut_words(list(zip(row.words, row.tags, tags, strict=True)))
                wrong.append(Mistake((), "", "", float(count), words))
        return Mistakes("wrong tags", worst_first(wrong), len(wrong), len(rows))

    def defines(self, metric: str, rows: Sequence[Sentence]) -> bool:
        """Without any true entity the scores of entities are 0, even of answers that are all right."""
        return metric not in _OF_ENTITIES or any(tag != "O" for row in rows for tag in row.tags)

    def sample_measure(
        self, metric: str, rows: Sequence[Sentence], answers: Sequence[Sequence[str]], labels: Sequence[str]
    ) -> RowStatistics | None:
        """Of entities the numbers that are right, predicted and true in each sentence; else see `label_statistics`."""
        if not _are_entities(labels):
            return label_statistics(metric, [row.tags for row in rows], answers, labels)
        from keras_bert.metrics.entities import entities_of

        def combine(means: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
            # Undefined without any true entity, see `defines`.
            return np.where(means[..., 2] > 0, divide(means[..., 0], means @ np.array(over)), np.nan)

        spans = [(set(entities_of(row.tags)), set(entities_of(tags))) for row, tags in zip(rows, answers, strict=True)]
        counts = [(len(true & predicted), len(predicted), len(true)) for true, predicted in spans]
        # F1 is 2 right / (predicted + true).
        over = {"precision": (0.0, 1.0, 0.0), "recall": (0.0, 0.0, 1.0), "f1": (0.0, 0.5, 0.5)}[metric]
        return RowStatistics(np.array(counts, "float64"), combine)

    def trivial(self, train: Sequence[Sentence], test: Sequence[Sentence]) -> tuple[str, list[list[str]]]:
        """For all words the most frequent tag of training: of entities `O`, which finds none."""
        commonest, _ = Counter(tag for row in train for tag in row.tags).most_common(1)[0]
        return "most frequent tag", [[commonest] * len(row.words) for row in test]

    def baselines(
        self, train: Sequence[Sentence], validation: Sequence[Sentence], test: Sequence[Sentence]
    ) -> Baselines:
        """For each word the tag that it has most often in training; for an unknown one the most frequent of all."""
        return {LOOKUP: lambda: tag_by_lookup(train, test)}


def tag_words(words: Sequence[str], entities: Sequence["Entity"]) -> list[str]:
    """The tags of words, separated by blanks, that entities in their text mark.

    An entity that begins or ends inside of a word has another type than any true one: it is not found.
    """
    ends = list(itertools.accumulate(len(word) + 1 for word in words))
    tags = ["O"] * len(words)
    for entity in entities:
        first, last = bisect_right(ends, entity.start), bisect_right(ends, entity.end - 1)
        is_whole = entity.start == ends[first] - len(words[first]) - 1 and entity.end == ends[last] - 1
        label = entity.label if is_whole else f"part of {entity.label}"
        tags[first : last + 1] = [f"B-{label}", *[f"I-{label}"] * (last - first)]
    return tags


def tag_by_lookup(train: Sequence[Sentence], test: Sequence[Sentence]) -> list[list[str]]:
    """For each word of the test rows the tag that it has most often in training, else the most frequent of all."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in train:
        for word, tag in zip(row.words, row.tags, strict=True):
            counts[word][tag] += 1
    commonest = sum(counts.values(), Counter()).most_common(1)[0][0]
    tag_of_word = {word: tags.most_common(1)[0][0] for word, tags in counts.items()}
    return [[tag_of_word.get(word, commonest) for word in row.words] for row in test]


def _are_entities(labels: Sequence[str]) -> bool:
    from keras_bert.tasks.entities import are_entity_tags

    return are_entity_tags(labels)
