"""Is a sentence intact, or did two neighbouring words of it change places?

No count of words can tell, as both versions have the same ones; what follows what decides.
"""

import re

from components.sources.shared import stable_hash
from components.sources.table import TextRow

INTACT, SWAPPED = "intact", "swapped"

# What stands around a word stays in its place when the word moves.
_EDGES = re.compile(r"^([\"'(]*)(.*?)([,;:)\"']*)$")


def order_row(sentence: str, _: str) -> TextRow | None:
    """The row of a sentence, of which a hash decides whether words are swapped; None if none can be."""
    swapped = swap_words(sentence)
    if swapped is None:
        return None
    return TextRow(swapped, SWAPPED) if stable_hash("side", sentence) % 2 else TextRow(sentence, INTACT)


def swap_words(sentence: str) -> str | None:
    """The sentence with two neighbouring words swapped, which a hash of it chooses; None if all neighbours are alike.

    The first word, whose capital would tell, and the last one, behind which the full stop stands, keep their places.
    """
    parts = [_split_word(word) for word in sentence[:-1].split()]
    words = [word for _, word, _ in parts]
    places = [place for place in range(1, len(words) - 2) if words[place].lower() != words[place + 1].lower()]
    if not places:
        return None
    place = places[stable_hash("place", sentence) % len(places)]
    words[place : place + 2] = words[place + 1], words[place]
    return " ".join(f"{left}{word}{right}" for (left, _, right), word in zip(parts, words, strict=True)) + "."


def _split_word(word: str) -> tuple[str, str, str]:
    match = _EDGES.match(word)
    assert match is not None
    return match[1], match[2], match[3]
