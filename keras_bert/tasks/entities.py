"""Decodes the tags of a text's words into entities."""

import dataclasses
from collections.abc import Sequence

from keras_bert.core.checks import check
from keras_bert.metrics.entities import OUTSIDE, entities_of, split_tag
from keras_bert.tasks.answer_spans import end_with_marks
from keras_bert.tasks.base import Array


@dataclasses.dataclass(frozen=True)
class Entity:
    """A named entity of a text.

    `label` is its type, such as `person`, `text` the characters `start:end`, and `probability` the mean probability of
    the tags of its words, 0 to 1.

    Examples:
        >>> Entity("person", text="Ada", start=0, end=3, probability=0.9).text
        'Ada'
    """

    label: str
    text: str
    start: int
    end: int
    probability: float


def decode(text: str, tags: Sequence[str], probabilities: Array, starts: Array, ends: Array) -> list[Entity]:
    """The entities that the tags of a text's words mark; tags of no scheme, as `X`, mark none.

    Each word has a tag, its probability, and the indices of its first character and after its last, all (words,).
    """
    entities = []
    for label, first, last in entities_of([tag if _is_tag(tag) else OUTSIDE for tag in tags]):
        start, end = int(starts[first]), end_with_marks(text, int(ends[last - 1]))
        entities.append(Entity(label, text[start:end], start, end, float(probabilities[first:last].mean())))
    return entities


def are_entity_tags(labels: Sequence[str]) -> bool:
    """Whether labels are entity tags, and not parts of speech, for example.

    Bare letters are entity tags only if all labels are: `O` and `S` are parts of speech, too (Gimpel et al. 2011).
    Among entity tags a label without `-` and `_` marks no entity: `O`, and `0`, `X` or `[SEP]` of some checkpoints.
    """
    if not any(label[:2] in ("B-", "I-", "E-", "S-") for label in labels):
        return OUTSIDE in labels and set(labels) <= set("OBIES")
    for label in labels:
        if "-" in label or "_" in label:
            try:
                split_tag(label)
            except ValueError as error:
                raise ValueError(f"TokenClassification.labels: {error}") from None
    has_outside = any(label == OUTSIDE or not _is_tag(label) for label in labels)
    check("TokenClassification", "labels", has_outside, f"hold {OUTSIDE}", list(labels))
    return True


def _is_tag(tag: str) -> bool:
    try:
        split_tag(tag)
    except ValueError:
        return False
    return True
