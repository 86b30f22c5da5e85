"""From the tags of a text's words to the entities that they mark."""

import dataclasses
import unicodedata
from collections.abc import Sequence

from keras_bert.checks import check
from keras_bert.metrics.entities import OUTSIDE, entities_of, split_tag
from keras_bert.tasks.base import Array


@dataclasses.dataclass(frozen=True)
class Entity:
    """A named entity of a text.

    Attributes:
        label: its type, as `person`.
        text: the entity as it stands in the text: `text[start:end]` of the whole.
        start: its first character.
        end: behind its last character.
        probability: the mean of its words' probabilities of their tags, 0 to 1.
    """

    label: str
    text: str
    start: int
    end: int
    probability: float


def decode(text: str, tags: Sequence[str], probabilities: Array, starts: Array, ends: Array) -> list[Entity]:
    """The entities that the tags of a text's words mark.

    Args:
        text: the words' text.
        tags: of each word.
        probabilities: of these tags (words,).
        starts: the first character of each word (words,).
        ends: behind the last one (words,).
    """
    entities = []
    for label, first, last in entities_of(tags):
        start, end = int(starts[first]), int(ends[last - 1])
        # An accent that stands as a character of its own is no part of a piece, but of the name.
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        probability = float(probabilities[first:last].mean())
        entities.append(Entity(label, text[start:end], start, end, probability))
    return entities


def are_entity_tags(labels: Sequence[str]) -> bool:
    """Whether labels are entity tags and not, say, parts of speech.

    Bare letters are entity tags only where there is nothing else: `O` and `S` are parts of speech, too (Gimpel et
    al. 2011).

    Raises:
        ValueError: some begin as entity tags do and others are none, or there is no `O`.
    """
    if not any(label[:2] in ("B-", "I-", "E-", "S-") for label in labels):
        return OUTSIDE in labels and set(labels) <= set("OBIES")
    for label in labels:
        try:
            split_tag(label)
        except ValueError as error:
            raise ValueError(f"TokenClassification.labels: {error}") from None
    check("TokenClassification", "labels", OUTSIDE in labels, f"hold {OUTSIDE}", list(labels))
    return True
