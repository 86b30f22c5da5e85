"""How `tokenizers` groups characters into graphemes, asked of the library itself: classes of characters by probes.

SentencePiece's normalizer, as `tokenizers` runs it, replaces graphemes below 6 bytes. The classes are those of Unicode
Standard Annex 29, table 2 and rules GB3 to GB11, in the library's version of Unicode.
"""

import functools
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence

from keras_bert.tokenizers.double_array import build_double_array

# Text whose grapheme has a mark of 2 bytes: alone, both are replaced; as the end of a longer one, the mark stays.
_MARK = "\u0301"
_VOWEL, _TAIL, _CONSONANT, _LINKER, _PICTURE, _JOINER = "\u1161", "\u11a8", "\u0915", "\u094d", "\u2122", "\u200d"
_KEYS = ("a", _VOWEL, _TAIL, _CONSONANT, _PICTURE)
_SYLLABLES = range(0xAC00, 0xD7A4)
_SURROGATES = range(0xD800, 0xE000)
# Ideographs and private use characters, which stand alone; from plane 4 on only tags and selectors of plane 14 do not.
_ALONE = (range(0x3400, 0x4DC0), range(0x4E00, 0xA000), _SYLLABLES, _SURROGATES, range(0xE000, 0xF900))
_SCANNED = (range(0x20, 0x20000), range(0xE0000, 0xE1000))


@functools.lru_cache(maxsize=1)
def grapheme_classes() -> dict[str, frozenset[int]]:
    """The classes of characters that decide where a grapheme ends.

    `extend` (with the joiner U+200D), `spacing`, `prepend`, `control`, `picture`; `consonant`, `linker` and `between`
    of Indic conjuncts; `lead`, `vowel` and `tail` of Hangul, without syllables.
    """
    codes = [code for span in _SCANNED for code in span if not any(code in block for block in _ALONE)]
    replaced, marks = charsmap(dict.fromkeys(_KEYS, "X")), charsmap({_MARK: "X"})
    joins = _find(replaced, codes, lambda c: "a" + c, lambda text: text == "X")
    before = functools.partial(_find, replaced, codes, ends=lambda text: text.endswith(_MARK))
    prepend = before(lambda c: f"{c}a{_MARK}")
    picture = before(lambda c: c + _JOINER + _PICTURE + _MARK)
    extend = before(lambda c: f"\u00a9{c}{_JOINER}{_PICTURE}{_MARK}") - picture
    consonant = before(lambda c: c + _LINKER + _CONSONANT + _MARK)
    linker = before(lambda c: _CONSONANT + c + _CONSONANT + _MARK) - prepend
    between = before(lambda c: _CONSONANT + c + _LINKER + _CONSONANT + _MARK) - consonant - linker
    to_vowel = before(lambda c: c + _VOWEL + _MARK) - prepend
    to_tail = before(lambda c: c + _TAIL + _MARK) - prepend
    control = _find(marks, codes, lambda c: c + _MARK + _MARK, lambda text: text.count("X") == 1)
    joiner = ord(_JOINER)
    return {
        "extend": (extend & joins) | {joiner},
        "spacing": joins - extend - {joiner},
        "prepend": prepend,
        "control": (control - {ord(_MARK)}) | set(range(0x20)),
        "picture": picture,
        "consonant": consonant,
        "linker": linker,
        "between": between,
        "lead": to_vowel - to_tail,
        "vowel": to_vowel & to_tail,
        "tail": to_tail - to_vowel,
    }


def charsmap(replacements: Mapping[str, str]) -> bytes:
    r"""A `precompiled_charsmap` of SentencePiece: a double array, and replacements that end in U+0000."""
    texts, starts = b"", {}
    for text in dict.fromkeys(replacements.values()):
        starts[text] = len(texts)
        texts += text.encode() + b"\0"
    units = build_double_array({key.encode(): starts[text] for key, text in replacements.items()}).astype("<u4")
    return struct.pack("<I", units.nbytes) + units.tobytes() + texts


def read_charsmap(content: bytes) -> dict[str, str]:
    r"""The replacements of a `precompiled_charsmap` by their keys; keys that are not UTF-8 match no text."""
    if len(content) < struct.calcsize("<I"):
        raise ValueError(f"precompiled_charsmap must hold a double array, got {len(content)} bytes")
    size = struct.unpack_from("<I", content)[0] // 4
    units = struct.unpack_from(f"<{size}I", content, 4)
    texts, replacements = content[4 + 4 * size :], {}
    rest = [(b"", _offset(units[0]))]
    while rest:
        key, base = rest.pop()
        for byte in range(1, 256):
            place = base ^ byte
            if place >= size or units[place] & 0x800000FF != byte:
                continue
            child = place ^ _offset(units[place])
            rest.append((key + bytes([byte]), child))
            if units[place] >> 8 & 1:
                start = units[child] & 0x7FFFFFFF
                replacements[key + bytes([byte])] = texts[start : texts.index(b"\0", start)].decode()
    return {key.decode(): text for key, text in replacements.items() if key == key.decode(errors="ignore").encode()}


def _offset(unit: int) -> int:
    """The field of a unit of Darts-clone that leads to its children."""
    return unit >> 10 << ((unit & 1 << 9) >> 6)


def _find(
    content: bytes, codes: Sequence[int], make: Callable[[str], str], ends: Callable[[str], bool]
) -> frozenset[int]:
    """The characters whose text, made by `make`, is normalized to one of which `ends` is true."""
    from tokenizers import normalizers

    normalizer = normalizers.Precompiled(content)
    texts: Iterable[str] = normalizer.normalize_str("\n".join(make(chr(code)) for code in codes)).split("\n")
    return frozenset(code for code, text in zip(codes, texts, strict=True) if ends(text))
