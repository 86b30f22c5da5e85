"""Ways in which files come to harm: each takes bytes and a seeded chance, and gives other bytes."""

import random
import re
from collections.abc import Callable

_WORDS = re.compile(rb'[\w.+-]+|[{}\[\]",:=]')
# Beyond that a file is long, and nothing new happens.
_MOST_GROWN = 1 << 16


def damage(content: bytes, chance: random.Random) -> bytes:
    """One or two damages, one after the other."""
    for harm in chance.choices(DAMAGES, k=chance.choice((1, 1, 2))):
        content = harm(content, chance)
    return content


def flip(content: bytes, chance: random.Random) -> bytes:
    """Up to 8 bytes with other bits."""
    changed = bytearray(content)
    for _ in range(chance.randint(1, 8) if content else 0):
        changed[chance.randrange(len(changed))] ^= chance.randint(1, 255)
    return bytes(changed)


def cut(content: bytes, chance: random.Random) -> bytes:
    """Without its end."""
    return content[: chance.randint(0, len(content))]


def swap(content: bytes, chance: random.Random) -> bytes:
    """Two ranges in each other's place."""
    a, b, c, d = sorted(chance.randint(0, len(content)) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def repeat(content: bytes, chance: random.Random) -> bytes:
    """A range several times in a row."""
    start, end = sorted(chance.randint(0, len(content)) for _ in range(2))
    times = max(1, min(chance.choice((1, 2, 50)), _MOST_GROWN // max(1, end - start)))
    return content[:end] + content[start:end] * times + content[end:]


def insert(content: bytes, chance: random.Random) -> bytes:
    """Random bytes somewhere within, or at its end."""
    place = chance.choice((len(content), chance.randint(0, len(content))))
    return content[:place] + chance.randbytes(chance.randint(1, 300)) + content[place:]


def zero(content: bytes, chance: random.Random) -> bytes:
    """A range of zeros, as of blocks that were never written."""
    start, end = sorted(chance.randint(0, len(content)) for _ in range(2))
    return content[:start] + bytes(end - start) + content[end:]


def change_number(content: bytes, chance: random.Random) -> bytes:
    """4 bytes, aligned, as another whole number: lengths and places in binary files lie so."""
    if len(content) < 4:
        return content
    place = chance.randrange(len(content) // 4) * 4
    number = chance.choice((0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, chance.getrandbits(32)))
    return content[:place] + number.to_bytes(4, "little") + content[place + 4 :]


def change_word(content: bytes, chance: random.Random) -> bytes:
    """Another word, number or mark of the file in the place of one: such files often still parse."""
    found = list(_WORDS.finditer(content))
    if not found:
        return content
    target = chance.choice(found)
    others = (chance.choice(found)[0], b"", b"0", b"-1", b"1e999", b"null", b"true", b"[]", b"{}", b'"')
    return content[: target.start()] + chance.choice(others) + content[target.end() :]


DAMAGES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip, cut, swap, repeat, insert, zero, change_number, change_word, change_word,
)  # fmt: skip
