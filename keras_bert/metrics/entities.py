"""Entities in sequences of tags, and their precision, recall and F1 (Tjong Kim Sang and De Meulder 2003)."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

Scheme = Literal["conlleval", "iob2"]

OUTSIDE = "O"


class Span(NamedTuple):
    """An entity as a range of tags in a sequence.

    Attributes:
        label: type of the entity, such as `person`.
        start: index of the first tag.
        end: index after the last tag.

    Examples:
        >>> words = ["Ada", "Lovelace", "wrote"]
        >>> span = Span("person", 0, 2)
        >>> words[span.start : span.end]
        ['Ada', 'Lovelace']
    """

    label: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Score:
    """Precision, recall and F1 of entities; a quotient with the divisor 0 is 0, as in conlleval.

    Attributes:
        precision: fraction of the predicted entities that are correct, 0 to 1.
        recall: fraction of the true entities that are predicted, 0 to 1.
        f1: harmonic mean of precision and recall.
        support: number of true entities.

    Examples:
        >>> entity_scores([["B-person", "O"]], [["B-person", "B-place"]]).micro.precision
        0.5
    """

    precision: float
    recall: float
    f1: float
    support: int


@dataclasses.dataclass(frozen=True)
class EntityScores:
    """Precision, recall and F1 of entities: over all entities, as a mean over the types, and for each type.

    Attributes:
        micro: scores over all entities, as in the CoNLL shared tasks.
        macro: mean scores over the types, true or predicted; `support` is the number of all entities.
        types: scores by type, in alphabetical order.

    Examples:
        >>> scores = entity_scores([["B-person", "O"]], [["B-person", "B-place"]])
        >>> scores.macro.f1, list(scores.types)
        (0.5, ['person', 'place'])
    """

    micro: Score
    macro: Score
    types: dict[str, Score]


# A corpus has many tags, but few distinct ones.
@functools.lru_cache(maxsize=4096)
def split_tag(tag: str) -> tuple[str, str]:
    """Splits a tag such as `B-person` into `B` and the type `person`; the type of `O` and of `B` without a type is `_`.

    Raises:
        ValueError: the tag is not a tag of BIO, IOB1 or IOBES.
    """
    prefix, dash, label = tag.partition("-")
    if tag != OUTSIDE and (prefix not in ("B", "I", "E", "S") or (dash and not label)):
        raise ValueError(f"a tag must be O, or one of B, I, E and S with a type as in B-person, got {tag!r}")
    return prefix, label or "_"


def entities_of(tags: Sequence[str], scheme: Scheme = "conlleval") -> list[Span]:
    """Decodes a sequence of tags to entities, first to last.

    `B` (begin) and `S` (single) open an entity, and `I` (inside) and `E` (end) of the same type continue it. It ends
    after `E` or `S`, or before a tag that does not continue it.

    Args:
        tags: the tags of one sentence.
        scheme: the meaning of an `I` or `E` that continues no entity of its type. With `conlleval` it opens an entity,
            as in the script of the shared tasks, which decodes IOB1, IOBES, and BIO with a model's mistakes. With
            `iob2` it is dropped, and `E` and `S` raise an error.

    Raises:
        ValueError: the scheme is unknown, or one of `tags` is not a tag of the scheme.

    Examples:
        >>> entities_of(["B-person", "I-person", "O", "I-place"])
        [Span(label='person', start=0, end=2), Span(label='place', start=3, end=4)]
        >>> entities_of(["B-person", "I-person", "O", "I-place"], scheme="iob2")
        [Span(label='person', start=0, end=2)]
    """
    if scheme not in get_args(Scheme):
        raise ValueError(f"scheme must be one of {get_args(Scheme)}, got {scheme!r}")
    spans: list[Span] = []
    start, current = None, ""
    for place, tag in enumerate(tags):
        prefix, label = split_tag(tag)
        if scheme == "iob2" and prefix in "ES":
            raise ValueError(f"a tag of scheme iob2 must be O, B or I, got {tag!r}")
        if start is not None and (prefix in "OBS" or label != current):
            spans.append(Span(current, start, place))
            start = None
        if start is None and (prefix in "BS" or (prefix in "IE" and scheme == "conlleval")):
            start, current = place, label
        if start is not None and prefix in "ES":
            spans.append(Span(current, start, place + 1))
            start = None
    if start is not None:
        spans.append(Span(current, start, len(tags)))
    return spans


def entity_scores(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], scheme: Scheme = "conlleval"
) -> EntityScores:
    """Precision, recall and F1 of entities; a predicted entity is correct if a true entity has its type, start and end.

    With the scheme `conlleval` these are the figures of conlleval and of seqeval's default mode, with `iob2` those
    of seqeval's strict mode with IOB2, as fractions.

    Args:
        true: the true tags of each sentence.
        predicted: the predicted tags of each sentence, of the same lengths.
        scheme: see `entities_of`.

    Raises:
        ValueError: the lengths differ, or a tag is not a tag of the scheme.

    Examples:
        >>> scores = entity_scores([["B-person", "I-person", "O"]], [["B-person", "I-person", "B-place"]])
        >>> scores.micro.precision, scores.micro.recall, scores.micro.support
        (0.5, 1.0, 1)
    """
    if len(true) != len(predicted):
        raise ValueError(f"predicted must be as many as true ({len(true)}), got {len(predicted)}")
    right: Counter[str] = Counter()
    predictions: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    for row, (tags, guesses) in enumerate(zip(true, predicted, strict=True)):
        if len(tags) != len(guesses):
            raise ValueError(f"predicted[{row}] must be as many as true[{row}] ({len(tags)}), got {len(guesses)}")
        spans, guessed = entities_of(tags, scheme), entities_of(guesses, scheme)
        targets.update(span.label for span in spans)
        predictions.update(span.label for span in guessed)
        right.update(span.label for span in set(spans) & set(guessed))
    labels = sorted({*predictions, *targets})
    types = {label: _score(right[label], predictions[label], targets[label]) for label in labels}
    return EntityScores(_score(right.total(), predictions.total(), targets.total()), _mean(types.values()), types)


def _score(right: int, predicted: int, true: int) -> Score:
    return Score(
        precision=right / predicted if predicted else 0.0,
        recall=right / true if true else 0.0,
        f1=2 * right / (predicted + true) if right else 0.0,
        support=true,
    )


def _mean(scores: Iterable[Score]) -> Score:
    rows = [dataclasses.astuple(score) for score in scores]
    if not rows:
        return Score(0.0, 0.0, 0.0, 0)
    precision, recall, f1, support = (sum(column) for column in zip(*rows, strict=True))
    return Score(precision / len(rows), recall / len(rows), f1 / len(rows), support)
