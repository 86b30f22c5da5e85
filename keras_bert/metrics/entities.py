"""Entities in sequences of tags, and how many of them were found (Tjong Kim Sang and De Meulder 2003)."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, get_args

Scheme = Literal["conlleval", "iob2"]

OUTSIDE = "O"


class Span(NamedTuple):
    """An entity's place in a sequence of tags.

    Attributes:
        label: its type, as `person`.
        start: its first tag.
        end: behind its last tag.
    """

    label: str
    start: int
    end: int


@dataclasses.dataclass(frozen=True)
class Score:
    """How well entities were found; what has nothing to divide by is 0, as in conlleval.

    Attributes:
        precision: right ones among the predicted, 0 to 1.
        recall: right ones among the true, 0 to 1.
        f1: the harmonic mean of the two.
        support: the number of true ones.
    """

    precision: float
    recall: float
    f1: float
    support: int


@dataclasses.dataclass(frozen=True)
class EntityScores:
    """Scores of all entities.

    Attributes:
        micro: all entities counted together: the figure of the CoNLL shared tasks.
        macro: the mean over the types, true or predicted; its support is that of all.
        types: of each type, in alphabetical order.
    """

    micro: Score
    macro: Score
    types: dict[str, Score]


# A corpus has many tags and few different ones.
@functools.lru_cache(maxsize=4096)
def split_tag(tag: str) -> tuple[str, str]:
    """`B-person` -> `B` and `person`; a bare `B` has the type `_`, and so has `O`.

    Raises:
        ValueError: it is no tag of BIO, IOB1 or IOBES.
    """
    prefix, dash, label = tag.partition("-")
    if tag != OUTSIDE and (prefix not in ("B", "I", "E", "S") or (dash and not label)):
        raise ValueError(f"a tag must be O, or one of B, I, E and S with a type as in B-person, got {tag!r}")
    return prefix, label or "_"


def entities_of(tags: Sequence[str], scheme: Scheme = "conlleval") -> list[Span]:
    """The entities that a sequence of tags marks, first to last.

    `B` (begin) and `S` (single) open an entity, `I` (inside) and `E` (end) of the same type go on with it, and it is
    over after `E`, `S`, or before whatever does not go on with it.

    Args:
        tags: of one sentence.
        scheme: what an `I` or `E` means that has nothing of its type to go on with. `conlleval` lets it open an
            entity, as the shared tasks' script does: so BIO with a model's mistakes, IOB1 and IOBES all read
            right. `iob2` drops it, and refuses `E` and `S`.

    Raises:
        ValueError: there is no such scheme, or one of `tags` is none of its tags.
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
    """Precision, recall and F1 of entities: right is one with the type and both ends of a true one.

    With the scheme `conlleval` these are the figures of conlleval and of seqeval's default mode, with `iob2` those
    of seqeval's strict mode with IOB2, as fractions.

    Args:
        true: one sequence of tags a sentence.
        predicted: as many, each as long.
        scheme: see `entities_of`.

    Raises:
        ValueError: the lengths differ, or a tag is none of the scheme's.
    """
    if len(true) != len(predicted):
        raise ValueError(f"predicted must be as many as true ({len(true)}), got {len(predicted)}")
    right: Counter[str] = Counter()
    found: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for row, (tags, guesses) in enumerate(zip(true, predicted, strict=True)):
        if len(tags) != len(guesses):
            raise ValueError(f"predicted[{row}] must be as many as true[{row}] ({len(tags)}), got {len(guesses)}")
        spans, guessed = entities_of(tags, scheme), entities_of(guesses, scheme)
        wanted.update(span.label for span in spans)
        found.update(span.label for span in guessed)
        right.update(span.label for span in set(spans) & set(guessed))
    types = {label: _score(right[label], found[label], wanted[label]) for label in sorted({*found, *wanted})}
    return EntityScores(_score(right.total(), found.total(), wanted.total()), _mean(types.values()), types)


def _score(right: int, found: int, wanted: int) -> Score:
    return Score(
        precision=right / found if found else 0.0,
        recall=right / wanted if wanted else 0.0,
        f1=2 * right / (found + wanted) if right else 0.0,
        support=wanted,
    )


def _mean(scores: Iterable[Score]) -> Score:
    rows = [dataclasses.astuple(score) for score in scores]
    if not rows:
        return Score(0.0, 0.0, 0.0, 0)
    precision, recall, f1, support = (sum(column) for column in zip(*rows, strict=True))
    return Score(precision / len(rows), recall / len(rows), f1 / len(rows), support)
