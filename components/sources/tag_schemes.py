"""Schemes of tags for entities: rows are converted to BIO when they are read; all other code uses BIO."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from keras_bert.metrics.entities import OUTSIDE, entities_of


class _Rules(NamedTuple):
    """The rules of a scheme.

    Attributes:
        joining: letters that must follow B or I of the same type.
        closed: whether last words are marked, so that a joining letter must follow B and I.
    """

    letters: tuple[str, ...]
    joining: tuple[str, ...]
    closed: bool


_CLOSED = _Rules(("B", "I", "E", "S", "L", "U"), ("I", "E", "L"), closed=True)
# BIO: each entity begins with B (IOB2 in Tjong Kim Sang and Veenstra 1999). IOB1: only an entity right behind
# another one of its type does (Ramshaw and Marcus 1995; CoNLL-2003). IOBES: B, I, E for the last word, S for the only
# one; in BILOU these two are called L and U (Ratinov and Roth 2009). Both names accept both pairs of letters.
_RULES = {
    "BIO": _Rules(("B", "I"), ("I",), closed=False),
    "IOB1": _Rules(("B", "I"), ("B",), closed=False),
    "IOBES": _CLOSED,
    "BILOU": _CLOSED,
    # Tags of entities that are scored as conlleval reads them, see `entities_of`.
    "any": _Rules(("B", "I", "E", "S"), (), closed=False),
}
_OF_BILOU = {"L": "E", "U": "S"}


def find_tag_error(tags: Sequence[str], scheme: str) -> tuple[int, str] | None:
    """The place of the first tag that breaks a scheme, and the rule that it breaks; None if all are right.

    With the scheme `any`, tags may be those of BIO, IOB1 and IOBES, in any order.
    """
    rules = _RULES[scheme]
    # The tag before, and the type of the entity that it may leave open.
    before, open_label = OUTSIDE, ""
    for place, tag in enumerate(tags):
        kind, _, label = tag.partition("-")
        if tag != OUTSIDE and (kind not in rules.letters or not label):
            *most, last = (f"{letter}-" for letter in rules.letters)
            return place, f"the tag must be O, or {', '.join(most)} or {last} with a type, got {tag!r}"
        if kind in rules.joining and label != open_label:
            return place, f"the tag {tag!r} must follow {_joined('BI', label)}, got {before!r} before it"
        if rules.closed and open_label and kind not in rules.joining:
            rule = f"the tag {before!r} must be followed by {_joined(rules.joining, open_label)}"
            return place - 1, f"{rule}, got {tag!r} behind it"
        before, open_label = tag, label if kind in ("B", "I") else ""
    if rules.closed and open_label:
        rule = (
            f"the tag {before!r} must be followed by {_joined(rules.joining, open_label)}, got the end of the sentence"
        )
        return len(tags) - 1, rule
    return None


def begin_entities(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags in BIO with `B-` in place of each `I-` that continues no entity of its type, as conlleval reads them."""
    pairs = zip((OUTSIDE, *tags), tags, strict=False)
    return tuple(f"B{tag[1:]}" if tag[:2] == "I-" and before[1:] != tag[1:] else tag for before, tag in pairs)


def to_bio(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags of a sentence in BIO, from valid tags (`find_tag_error`) of any scheme."""
    bio = [OUTSIDE] * len(tags)
    for label, start, end in entities_of([_OF_BILOU.get(tag[0], tag[0]) + tag[1:] for tag in tags]):
        bio[start:end] = [f"B-{label}", *[f"I-{label}"] * (end - start - 1)]
    return tuple(bio)


def suggest_scheme(sentences: Sequence[Sequence[str]], scheme: str) -> str:
    """The end of an error message about tags that break a scheme: the one in which all are right, if there is one."""
    tags_seen = {tag for tags in sentences for tag in tags}
    prefixes = {tag.partition("-")[0] if "-" in tag or tag == OUTSIDE else "" for tag in tags_seen}
    if all(tag.isdecimal() for tag in tags_seen):
        return "; the tags are whole numbers: put the names that they stand for in their place, as O and B-PER"
    if prefixes.isdisjoint((OUTSIDE, *_CLOSED.letters)):
        return '; the tags look like no entities: set scheme = "any"'
    for name in ("BIO", "IOB1", "BILOU" if prefixes & _OF_BILOU.keys() else "IOBES"):
        if name != scheme and not any(find_tag_error(tags, name) for tags in sentences):
            return f'; the tags look like {name}: set scheme = "{name}"'
    return ""


def _joined(letters: Iterable[str], label: str) -> str:
    """Tags of a type in a message of one line, whatever characters the type has."""
    return " or ".join(f"{letter}-{repr(label)[1:-1]}" for letter in letters)
