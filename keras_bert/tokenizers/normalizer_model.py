"""The tables with which tensorflow-text's tokenizer splits text exactly as BERT's reference does.

tensorflow-text normalizes text character by character, by a table that is an argument, and then splits it by ICU's
white space and punctuation, which are built in. So the table does more than normalize: a character that ICU takes
for punctuation, and the reference for a letter, gets a stand-in, in the text and in the vocabulary.
"""

import functools
import itertools
import struct
from collections.abc import Iterator, Sequence

from keras_bert.options.data import Lowercasing
from keras_bert.tokenizers.double_array import build_double_array
from keras_bert.tokenizers.unicode_rules import (
    FORMER_PUNCTUATION,
    LATER_PUNCTUATION,
    PRIVATE,
    changed_characters,
    normalize,
)

# Characters that the operation treats as Chinese, but the reference does not.
_SKIPPED_CHINESE = frozenset(range(0x2B820, 0x2B920))

# Stand-ins are private use characters, as normalized text has no others: BERT removes them.
_FIRST_STAND_IN = 0xE000
_STAND_INS = {
    code_point: chr(_FIRST_STAND_IN + place)
    for place, code_point in enumerate(sorted(LATER_PUNCTUATION | _SKIPPED_CHINESE))
}
_MATCHED_OTHERWISE = FORMER_PUNCTUATION.union(_STAND_INS)

# Private use characters are four in five of all characters that change. In UTF-8, blocks of 64 share all bytes but the
# last; the last block of a plane is incomplete.
_BLOCK = 64
_PRIVATE = [span[: len(span) // _BLOCK * _BLOCK] for span in PRIVATE]
_PRIVATE_RESTS = [span[len(span) // _BLOCK * _BLOCK :] for span in PRIVATE]

# `FastBertNormalizer` of tensorflow-text: a changed character's value holds this bit, the place of its replacement in a
# pool of bytes, and its length.
_CHANGED = 1 << 30
_LENGTH_BITS = 6


@functools.lru_cache(maxsize=3)
def normalizer_model(lowercase: Lowercasing) -> bytes:
    """The flatbuffer `FastBertNormalizerModel` of tensorflow-text with the reference's rules.

    Bytes that are not UTF-8 are removed, as is U+FFFD, which replaces them in decoded text.
    """
    pool = b""
    places: dict[bytes, int] = {}
    values: dict[bytes, int] = {}
    for key, replacement in _replacements(lowercase):
        if replacement not in places:
            places[replacement] = len(pool)
            pool += replacement
        values[key] = _CHANGED | places[replacement] << _LENGTH_BITS | len(replacement)
    # An empty replacement may have any place in the pool.
    private = {chr(code_point).encode()[:-1]: _CHANGED for block in _PRIVATE for code_point in block[::_BLOCK]}
    units = build_double_array(values, private).astype("<u4")
    # Offsets of the root table, its vtable (of four fields, the first one left out), the table, the two vectors.
    head = struct.pack("<I6H4I", 16, 12, 16, 0, 4, 8, 12, 12, 12, _CHANGED, 8 + units.nbytes)
    return b"".join((head, struct.pack("<I", units.size), units.tobytes(), struct.pack("<I", len(pool)), pool))


def _replacements(lowercase: Lowercasing) -> Iterator[tuple[bytes, bytes]]:
    """Yields sequences and replacements in UTF-8: changed characters, except U+0000 and `_PRIVATE`; invalid bytes."""
    changed = changed_characters(lowercase)
    for code_point in sorted((changed.keys() | _MATCHED_OTHERWISE) - {0}):
        normalized = "".join(map(_to_matcher, changed.get(code_point, chr(code_point))))
        yield chr(code_point).encode(), normalized.encode()
    for code_point in itertools.chain(*_PRIVATE_RESTS):
        yield chr(code_point).encode(), b""
    for sequence in _broken_sequences():
        yield sequence, b""


def _to_matcher(character: str) -> str:
    if ord(character) in FORMER_PUNCTUATION:
        return f" {character} "
    return _STAND_INS.get(ord(character), character)


def _broken_sequences() -> Iterator[bytes]:
    """Yields the invalid sequences that ICU skips as a unit: single bytes, and characters that are cut off."""
    for byte in range(0x80, 0x100):
        yield bytes([byte])
    for code_point in [*range(0x800, 0xD800, 64), *range(0xE000, 0x10000, 64)]:
        yield chr(code_point).encode()[:2]
    for code_point in range(0x10000, 0x110000, 64):
        yield chr(code_point).encode()[:3]
    for code_point in range(0x10000, 0x110000, 4096):
        yield chr(code_point).encode()[:2]


def matcher_vocabulary(vocabulary: Sequence[str], lowercase: Lowercasing) -> list[str]:
    r"""The vocabulary in the characters of normalized text; a token that no text can match gets another name."""
    characters = set().union(*vocabulary)
    unmatched = {" ", *(letter for letter in characters if normalize(letter, lowercase) != letter)}
    # The matcher drops tokens with punctuation inside; U+E000 makes this name differ from all others.
    return [
        f"{chr(_FIRST_STAND_IN)}.{place}"
        if not unmatched.isdisjoint(token)
        else "".join(_STAND_INS.get(ord(character), character) for character in token)
        for place, token in enumerate(vocabulary)
    ]
