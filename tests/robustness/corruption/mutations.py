"""Mutations of files: each takes bytes and a seeded random generator, and returns other bytes."""

import random
import re
from collections.abc import Callable

_WORDS = re.compile(rb'[\w.+-]+|[{}\[\]",:=]')
# Longer files show nothing new.
_MAX_GROWTH = 1 << 16


def mutate(content: bytes, generator: random.Random) -> bytes:
    """Applies one or two mutations, one after the other."""
    for mutation in generator.choices(MUTATIONS, k=generator.choice((1, 1, 2))):
        content = mutation(content, generator)
    return content


def flip(content: bytes, generator: random.Random) -> bytes:
    """Changes up to 8 bytes."""
    changed = bytearray(content)
    for _ in range(generator.randint(1, 8) if content else 0):
        changed[generator.randrange(len(changed))] ^= generator.randint(1, 255)
    return bytes(changed)


def cut(content: bytes, generator: random.Random) -> bytes:
    """Cuts off the end."""
    return content[: generator.randint(0, len(content))]


def swap(content: bytes, generator: random.Random) -> bytes:
    """Swaps two ranges."""
    a, b, c, d = sorted(generator.randint(0, len(content)) for _ in range(4))
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def repeat(content: bytes, generator: random.Random) -> bytes:
    """Repeats a range."""
    start, end = sorted(generator.randint(0, len(content)) for _ in range(2))
    times = max(1, min(generator.choice((1, 2, 50)), _MAX_GROWTH // max(1, end - start)))
    return content[:end] + content[start:end] * times + content[end:]


def insert(content: bytes, generator: random.Random) -> bytes:
    """Inserts random bytes, anywhere or at the end."""
    offset = generator.choice((len(content), generator.randint(0, len(content))))
    return content[:offset] + generator.randbytes(generator.randint(1, 300)) + content[offset:]


def zero(content: bytes, generator: random.Random) -> bytes:
    """Zeroes a range, as in blocks that were never written."""
    start, end = sorted(generator.randint(0, len(content)) for _ in range(2))
    return content[:start] + bytes(end - start) + content[end:]


def change_number(content: bytes, generator: random.Random) -> bytes:
    """Replaces an aligned 32-bit integer, as binary files store lengths and offsets."""
    if len(content) < 4:
        return content
    offset = generator.randrange(len(content) // 4) * 4
    number = generator.choice((0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, generator.getrandbits(32)))
    return content[:offset] + number.to_bytes(4, "little") + content[offset + 4 :]


def change_word(content: bytes, generator: random.Random) -> bytes:
    """Replaces a word, number or punctuation mark by another one of the file: such files often still parse."""
    words = list(_WORDS.finditer(content))
    if not words:
        return content
    target = generator.choice(words)
    replacements = (generator.choice(words)[0], b"", b"0", b"-1", b"1e999", b"null", b"true", b"[]", b"{}", b'"')
    return content[: target.start()] + generator.choice(replacements) + content[target.end() :]


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip, cut, swap, repeat, insert, zero, change_number, change_word, change_word,
)  # fmt: skip
