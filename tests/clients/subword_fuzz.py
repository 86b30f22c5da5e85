"""Tokenizers of subwords as released checkpoints have them, and texts that those of apps have to split alike."""

import base64
import functools
import random
import subprocess
import unicodedata

from keras_bert.clients.graphemes import charsmap
from keras_bert.clients.subword_rules import subword_rules
from keras_bert.tokenizers.eager import EagerSubwords
from tests.clients.fuzz import COUNT, LENGTH, layout_rows
from tests.keras_bert.tokenizers.subwords import TEXTS, content

# A kind of `tests.keras_bert.tokenizers.subwords`, and what a family's released checkpoints have in its place.
_STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
_ONE_SPACE = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
_ONE_BLANK = {"type": "Replace", "pattern": {"Regex": r"\s{2,}|[\n\r\t]"}, "content": " "}
_WORDS = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
_WHITE = {"type": "WhitespaceSplit"}
_QUOTES = [{"type": "Replace", "pattern": {"String": mark * 2}, "content": '"'} for mark in "`'"]
FAMILIES = (
    "roberta", "modernbert", "albert", "xlm_roberta", "deberta", "deberta_5", "unigram", "prefixed", "gemma", "llama",
    "added", "spaced", "removed",
)  # fmt: skip


@functools.cache
def make_tokenizer(family):
    """A small tokenizer with the normalizers and pre-tokenizers of a family."""
    kinds = {"roberta": "bpe", "prefixed": "bpe", "modernbert": "modern", "spaced": "added"}
    kinds |= {kind: kind for kind in ("gemma", "llama", "added")}
    made = content(kinds.get(family, "unigram"))
    if family == "spaced":
        made["normalizer"] |= {"handle_chinese_chars": True, "strip_accents": False, "lowercase": True}
    if family == "prefixed":
        made["normalizer"] = {"type": "Lowercase"}
        made["pre_tokenizer"]["add_prefix_space"] = made["post_processor"]["add_prefix_space"] = True
        made["added_tokens"].append(_added(len(made["model"]["vocab"]), "[unused0]"))
    elif family == "albert":
        steps = [
            *_QUOTES,
            {"type": "NFKD"},
            {"type": "StripAccents"},
            {"type": "Lowercase"},
            _precompiled(),
            _ONE_SPACE,
        ]
        made["normalizer"] = {"type": "Sequence", "normalizers": steps}
        made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [_WHITE, _WORDS]}
    elif family == "xlm_roberta":
        made["normalizer"] = _precompiled()
        made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [_WHITE, _WORDS]}
    elif family == "deberta":
        made["normalizer"] = {"type": "Sequence", "normalizers": [_STRIP, _precompiled(), _ONE_SPACE]}
        made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [_WORDS]}
    elif family == "removed":
        steps = [{**step, "content": ""} for step in (*_QUOTES, _ONE_SPACE)]
        steps.append({"type": "Replace", "pattern": {"String": "ow"}, "content": ""})
        made["normalizer"] = {"type": "Sequence", "normalizers": steps}
    elif family == "deberta_5":
        steps = [_ONE_BLANK, {"type": "NFC"}, {**_STRIP, "strip_left": False}]
        made["normalizer"] = {"type": "Sequence", "normalizers": steps}
        made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [_WORDS]}
    return EagerSubwords(made)


def _added(number, text):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
    return {"id": number, "content": text, "normalized": True, **flags}


@functools.cache
def _precompiled():
    """A normalizer in SentencePiece's format: NFKC, as `nmt_nfkc` has it, without control characters."""
    replaced = {"\x01": "", "\xad": "", "\u200b": " ", "\u200d": " ", "\t": " ", "\n": " ", "\u3000": " "}
    for code in range(0xA0, 0xE0000):
        character = chr(code)
        if 0xAC00 <= code < 0xE000:
            continue
        normalized = unicodedata.normalize("NFKC", character)
        if normalized != character:
            replaced[character] = normalized
        parts = unicodedata.normalize("NFD", character)
        if len(parts) > 1 and unicodedata.normalize("NFC", parts) == character:
            replaced[parts] = character
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap(replaced)).decode()}


def make_texts(seed):
    """`COUNT` texts: words, marks, runs of spaces, and some of all of Unicode."""
    chance = random.Random(seed)
    words = [
        *" ".join(TEXTS).split(),
        "[MASK]",
        "<mask>",
        "<unk>",
        "[unused0]",
        "``",
        "''",
        "I'll",
        "we've",
        "'S",
        "42",
        "12345",
        "'LL",
        "'\u017f",
        "'re",
        "cows",
        "Overs",
        "film0x",
        "<l>",
        "<R>",
        "flies",
        "waits",
        "!!!",
        "雨",
        "京",
        "a" * 101,
    ]
    glue = ["", " ", " ", "  ", "   ", "    ", "\t", "\n", "\u3000", "\u00a0", "\u2028", "\x1e", "\r\n", "\n\n\n\n"]
    marks = [
        "\u0301",
        "\u0334",
        "\u0345",
        "\u0344",
        "\u093c",
        "\u094d",
        "\u200d",
        "\u1161",
        "\u11a8",
        "\u0600",
        "\ufe0f",
    ]
    bases = [
        "e",
        "\u00e9",
        "™",
        "\u00a9",
        "\u0915",
        "\u0958",
        "\u1100",
        "각",
        "가",
        "ﬁ",
        "½",
        "\u0390",
        "İ",
        "ß",
        "\u03a3",
        "\U0001d538",
    ]

    def part():
        sort = chance.random()
        if sort < 0.45:
            return chance.choice(words)
        if sort < 0.85:
            return "".join(
                chance.choice(bases if chance.random() < 0.5 else marks) for _ in range(chance.randint(1, 5))
            )
        code = chance.randrange(1, 0x3100) if sort < 0.94 else chance.randrange(1, 0x110000)
        return "\ufffd" if 0xD800 <= code < 0xE000 else chr(code)

    texts = ["".join(part() + chance.choice(glue) for _ in range(chance.randint(0, 9))) for _ in range(COUNT - 4)]
    return [*texts, "", "   ", "a" * 500, "\u0301" * 30]


def split(tokenizer, texts):
    """The tokens of each text: id, first character, behind the last one, whether it begins a word."""
    columns = [part.to_list() for part in tokenizer.tokenize_with_offsets(list(texts))]
    continues = tokenizer.word_marks().tolist()
    return [
        [[*token, not place or not continues[token[0]]] for place, token in enumerate(zip(*text, strict=True))]
        for text in zip(*columns, strict=True)
    ]


def write_rules(tokenizer, folder):
    """Writes `vocab.txt` and `subwords.txt`; returns their paths."""
    files = {
        "vocab.txt": "".join(f"{token}\n" for token in tokenizer.vocabulary),
        "subwords.txt": subword_rules(tokenizer),
    }
    for name, lines in files.items():
        (folder / name).write_text(lines, encoding="utf-8", newline="")
    return [str(folder / name) for name in files]


def check_subwords(command, family, folder):
    """Asserts that a program splits texts and builds rows as the library does.

    Its arguments are the files of the vocabulary and of the rules, and the most tokens of a row; on standard input it
    reads texts, a line of code points each. It prints a line for each: tokens `id:start:end:begins`, and behind tabs
    the ids of the text's row, the ids of its row with the text before, and the segments of that.
    """
    tokenizer, texts = make_tokenizer(family), [*make_texts(seed=8), *all_characters()]
    given = "".join(f"{' '.join(str(ord(character)) for character in text)}\n" for text in texts)
    arguments = [*command, *write_rules(tokenizer, folder), str(LENGTH)]
    done = subprocess.run(arguments, input=given, capture_output=True, text=True, check=True)
    tokens = [
        " ".join(":".join(str(int(value)) for value in token) for token in row) for row in split(tokenizer, texts)
    ]
    alone, paired = (tokenizer.encode(texts, pairs, max_length=LENGTH) for pairs in (None, ["", *texts[:-1]]))
    rows = (layout_rows(alone, "token_ids"), layout_rows(paired, "token_ids"), layout_rows(paired, "segment_ids"))
    expected = ["\t".join(parts) for parts in zip(tokens, *rows, strict=True)]
    printed = done.stdout.split("\n")[:-1]
    assert len(printed) == len(expected)
    assert [text for text, one, other in zip(texts, printed, expected, strict=True) if one != other] == []


def all_characters():
    """Every code point but surrogates, between letters, 64 in a text."""
    codes = [code for code in range(1, 0x110000) if not 0xD800 <= code < 0xE000]
    return ["".join(f"a{chr(code)}b" for code in codes[start : start + 64]) for start in range(0, len(codes), 64)]
