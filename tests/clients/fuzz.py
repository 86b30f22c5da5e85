"""Strings that a tokenizer of an app has to cut as the library does."""

import random

from keras_bert.tokenizers.tokenizer import SPECIAL_TOKENS, Tokenizer

# Pieces of every kind, so that words are found, found in parts, and not found.
LETTERS = "abcdefghijklmnopqrstuvwxyzßéлд東한ㅏ0123456789"
PIECES = (
    *SPECIAL_TOKENS,
    *LETTERS,
    *(f"##{letter}" for letter in LETTERS[:24]),
    *("the", "##ing", "un", "##able", "abc", "##abc", "Ab", "É", "e\u0301", "ᄒ", "##ᅡ", "##ᆫ", "##é"),
    *"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~",
    *("。", "、", "«", "\u2013", "##2019", "京"),
)
COUNT = 10_000


def make_strings(seed: int) -> list[str]:
    """`COUNT` of them: common characters, some of all of Unicode, and long words."""
    chance = random.Random(seed)
    common = [*map(ord, "abcdeht ABÉß .,-'0129\n\t")]

    def character() -> str:
        sort = chance.random()
        if sort < 0.8:
            return chr(chance.choice(common))
        code = chance.randrange(1, 0x3100) if sort < 0.9 else chance.randrange(1, 0x110000)
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)

    made = ["".join(character() for _ in range(chance.randint(0, 40))) for _ in range(COUNT - 6)]
    return [
        *made,
        *("a" * length for length in (99, 100, 101, 500)),
        "한글 각 간",
        "\u00e9" * 100 + " " + "e\u0301" * 101,
    ]


def cut(tokenizer: Tokenizer, texts: list[str]) -> list[list[list[int]]]:
    """The pieces of each text: id, first character, behind the last one."""
    found = [part.to_list() for part in tokenizer.tokenize_with_offsets(texts)]
    return [[list(piece) for piece in zip(*own, strict=True)] for own in zip(*found, strict=True)]
