"""Texts that tokenizers disagree about, and a vocabulary in which the disagreement shows."""

from keras_bert.tokenizers.unicode_rules import FORMER_PUNCTUATION, LATER_PUNCTUATION
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.golden.unicode_rules import (
    FORMER_MARKS,
    LATER_DECOMPOSITIONS,
    LATER_FORMATS,
    LATER_LOWER_CASE,
    LATER_MARKS,
)

LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEé0123456789ß\u0131\u03b1ς\u03c3жאב\u0627ب가한\u1100\u1161\u11a8\u1112あ"
SIGNS = "!#,.[]'-`~^$+…。«»日本語中\u166d\u2e52\u061d😀👍\u302e\u20e3\U0002b820\U0002b920\U000111c9"
VOCABULARY = (
    *SPECIAL_TOKENS,
    *dict.fromkeys(LETTERS + SIGNS),
    *(f"##{letter}" for letter in dict.fromkeys(LETTERS + "\u2e52\U0002b820😀\u302e")),
    *"hello world the un ##ing ##able ##hello ##### ## ##. ... mask [mask] é1 a\u2e52b ##\u2e52b ##\u20e3".split(),
    "a" * 30,
    "##" + "a" * 30,
    "a b",
    " ",
    "\ue000",
    "\0",
)

WORDS = (
    "Hello, WORLD! the UNable-ing",
    "[MASK] [mask] [CLS][SEP] [UNK] [PAD]x",
    "## ##ing ### #hello .## ##.",
    "a\u2e52b \u2e52 a\u061db",
    "\u166d a\u166db \U000111c9a",
    "日本語 a日b 日。本 \uf900 \U0002b81f\U0002b820\U0002b91f\U0002b920 \U0002f800",
    "한가 \u1100\u1161\u11a8 각 까",
    "é e\u0301 E\u0301\u0323 É1 \u0301 a \u0301b \u0301",
    "İ \u0131 I ß ẞ ΑΣ Σ ς ﬁ Å \u212b Ω \u2126 ǅ",
    "≠ ≮ \u1fef \u037e \u0387",
    "a\u200bb a\u200db a\u00adb a\ufeffb \u202eabc\u202c \u2066a\u2069",
    "👨\u200d👩\u200d👧 👍🏽 🏳\ufe0f\u200d🌈 1\ufe0f\u20e3 😀a a😀",
    "אָב \u05d0\u05b8 بَا \u0627\u0653 \u0640",
    "a\tb\nc\rd\x0be\x0cf\x85g\x1ch",
    "a\u00a0b\u1680c\u2003d\u2028e\u2029f\u202fg\u205fh\u3000i",
    "a\0b\x01c\x7fd\x9fe \ufffd a\ufffdb",
    "\ue000 a\ue000b \uf8ff \U000f0000a \U0010fffd",
    "\u0378 a\u0378b \U000e0fff \ufdd0 \uffff a\U0010ffff",
    "\ufeffhello \u2060world",
    "\u302ea a\u302e \u1734a \U00011938",
    "",
    " ",
    "\u0301",
    "\u200b \u200b",
    "...... --- $$$ `` ~~ ^^",
    "1" * 100,
    "x" + "1" * 100,
)

LIMITS = {"a": (99, 100, 101), "é": (50, 51, 100, 101), "e\u0301": (100, 101), "한": (33, 34)}
LONG = (
    *(unit * count + tail for unit in LIMITS for count in LIMITS[unit] for tail in ("", ".", " b", "\u0301")),
    "a" * 10_000,
    "a" * 400 + "b",
    "ab" * 60 + " the",
    "the " + "가" * 101 + " un",
    "\u200b" * 500 + "a",
    "日" * 150,
)

EXCEPTIONS = tuple(
    f"a{chr(c)}b {chr(c)} {chr(c)}1{chr(c)}"
    for c in sorted(
        {
            *FORMER_MARKS,
            *FORMER_PUNCTUATION,
            *LATER_DECOMPOSITIONS,
            *sorted(LATER_FORMATS)[::3],
            *sorted(LATER_LOWER_CASE)[::6],
            *sorted(LATER_MARKS)[::12],
            *sorted(LATER_PUNCTUATION)[::5],
        }
    )
)

TEXTS = (*WORDS, *LONG, *EXCEPTIONS)
