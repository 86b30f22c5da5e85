"""What a pushed model answers, a line each, parted by tabs."""

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from components.dsl.errors import InputError

if TYPE_CHECKING:
    from keras_bert.tasks.base import Task
    from keras_bert.tasks.classification import Prediction
    from keras_bert.tasks.entities import Entity


def answer_lines(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> Iterator[str]:
    """The answers of a task of any kind.

    Classification: label, probability, text. Regression: number, text. Token classification: an entity a line with
    label, probability, place and text, or where tags mark none the words with their tags. Question answering: answer,
    probability and place. Embedding: the cosine of each pair, or a vector as JSON. Of a task that is calibrated with a
    threshold, a label whose probability is below it is `not sure (LABEL)`.

    Args:
        task: a pushed model.
        texts: what to ask about; questions, for question answering.
        seconds: the second text of each pair; contexts, for question answering.

    Raises:
        InputError: the task takes no second texts, or cannot do without.
    """
    from keras_bert.tasks.classification import Classification
    from keras_bert.tasks.embedding import Embedding
    from keras_bert.tasks.question_answering import QuestionAnswering
    from keras_bert.tasks.regression import Regression
    from keras_bert.tasks.token_classification import TokenClassification

    if isinstance(task, QuestionAnswering):
        if seconds is None:
            raise InputError("--second must give the context of each question, got none")
        for answer in task.predict(texts, seconds):
            yield f"{answer.text or '(no answer)'}\t{answer.probability:.4f}\t{answer.start}:{answer.end}"
    elif isinstance(task, Classification):
        for text, prediction in zip(texts, task.predict(texts, seconds), strict=True):
            yield f"{_label(task, prediction)}\t{prediction.probability:.4f}\t{text}"
    elif isinstance(task, Regression):
        for text, number in zip(texts, task.predict(texts, seconds), strict=True):
            yield f"{number:.4f}\t{text}"
    elif isinstance(task, Embedding):
        yield from _vectors(task, texts, seconds)
    elif isinstance(task, TokenClassification):
        if seconds is not None:
            raise InputError("--second must be left out: the model tags single texts")
        yield from _tags(task, texts)


def cut_lines(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> Iterator[str]:
    """A line for each text or pair that is longer than the model can read."""
    if not task.cuts:
        return
    # The vector of each side is made by itself.
    apart = task.name == "embedding"
    longest = task.count_tokens(texts, None if apart else seconds)
    if apart and seconds is not None:
        longest = [max(pair) for pair in zip(longest, task.count_tokens(seconds), strict=True)]
    for number, length in enumerate(longest, start=1):
        if length > task.max_length:
            cut = length - task.max_length
            yield f"text {number}: {cut} of {length} tokens were cut, the model reads {task.max_length}"


def _vectors(task: "Task", texts: Sequence[str], seconds: Sequence[str] | None) -> Iterator[str]:
    from keras_bert.tasks.checks import check_same_length
    from keras_bert.tasks.embedding import Embedding, cosine_similarity

    assert isinstance(task, Embedding)
    firsts = task.predict(texts)
    if seconds is None:
        for vector in firsts:
            yield json.dumps([round(float(value), 6) for value in vector])
        return
    check_same_length("texts", texts, "--second", seconds)
    cosines = cosine_similarity(firsts, task.predict(seconds)).diagonal()
    for text, cosine in zip(texts, cosines, strict=True):
        yield f"{cosine:.4f}\t{text}"


def _label(task: "Task", answer: "Prediction | Entity") -> str:
    return answer.label if task.calibration.is_sure(answer.probability) else f"not sure ({answer.label})"


def _tags(task: "Task", texts: Sequence[str]) -> Iterator[str]:
    from keras_bert.tasks.entities import are_entity_tags
    from keras_bert.tasks.token_classification import TokenClassification

    assert isinstance(task, TokenClassification)
    if not are_entity_tags(task.labels):
        words = [text.split() for text in texts]
        for own, tags in zip(words, task.predict_tags(words), strict=True):
            yield " ".join(f"{word}/{tag}" for word, tag in zip(own, tags, strict=True))
        return
    for text, entities in zip(texts, task.predict(texts), strict=True):
        for entity in entities:
            yield f"{_label(task, entity)}\t{entity.probability:.4f}\t{entity.start}:{entity.end}\t{entity.text}"
        if not entities:
            yield f"(no entity)\t\t\t{text}"
