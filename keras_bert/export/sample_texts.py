"""Texts that tokenizers often get wrong, and ordinary ones; written for this project."""

TEXTS = (
    "The small boat came back to the harbour before the storm.",
    "",
    "   ",
    "It wasn't cheap: $1,299.50 (incl. 20% VAT)!",
    "Ünïcödé, naïve café, Ærøskøbing and a STRAẞE.",
    "e\u0301 is two characters, zero\u200bwidth is none; tab\tand\nline.",
    "東京 and 한국어 stand beside Ελλάδα and Россия.",
    "Emoji 🙂👩‍👩‍👧 \ufffd and a [MASK] that is plain text.",
    "pneumono" * 12 + " is one word, " + "x" * 101 + " is too long for one.",
    "Ada Lovelace met Charles Babbage in London in 1833. " * 4,
)
SECONDS = (*TEXTS[1:], TEXTS[0])
