"""Strings that a tokenizer of an app has to cut as the library does."""

import random
import subprocess

import numpy as np

from keras_bert.clients.characters import character_table
from keras_bert.export.mediapipe_text import MediaPipeTokenizer
from keras_bert.tokenizers.eager import EagerWordPiece
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

MPNET = ("<s>", "<pad>", "</s>", "[UNK]", "<mask>")
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
# Of a row: most texts are longer, and lose pieces.
LENGTH = 16


def make_strings(seed):
    """`COUNT` of them: common characters, some of all of Unicode, and long words."""
    chance = random.Random(seed)
    common = [*map(ord, "abcdeht ABÉß .,-'0129\n\t")]

    def character():
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


def cut(tokenizer, texts):
    """The pieces of each text: id, first character, behind the last one."""
    columns = [part.to_list() for part in tokenizer.tokenize_with_offsets(texts)]
    return [[list(piece) for piece in zip(*text_columns, strict=True)] for text_columns in zip(*columns, strict=True)]


def check_program(command, lowercase, folder, special=SPECIAL_TOKENS):
    """Asserts that a program cuts strings and lays out rows as the library does.

    It is told the files of a vocabulary and of characters and the most tokens of a row, and gets texts on standard
    input, a line of code points each. It answers with a line of pieces, each `id:start:end`, and behind tabs the ids
    of the text's row, the ids of its row with the text before, the segments of that, and the code points of what
    `plain` makes of it.
    """
    vocabulary = (*special, *PIECES[len(SPECIAL_TOKENS) :])
    texts, tokenizer = make_strings(seed=8), Tokenizer(vocabulary, lowercase)
    files = {"vocab.txt": "".join(f"{piece}\n" for piece in vocabulary), "characters.txt": character_table(lowercase)}
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    given = "".join(f"{' '.join(str(ord(character)) for character in text)}\n" for text in texts)
    arguments = [*(str(folder / name) for name in files), str(LENGTH)]
    done = subprocess.run([*command, *arguments], input=given, capture_output=True, text=True, check=True)
    printed = [line.split("\t") for line in done.stdout.split("\n")[:-1]]
    pieces = [" ".join(":".join(map(str, piece)) for piece in text_tokens) for text_tokens in cut(tokenizer, texts)]
    alone, paired = (tokenizer.encode(texts, pairs, max_length=LENGTH) for pairs in (None, ["", *texts[:-1]]))
    rows = (layout_rows(alone, "token_ids"), layout_rows(paired, "token_ids"), layout_rows(paired, "segment_ids"))
    expected = [list(parts) for parts in zip(pieces, *rows, strict=True)]
    assert len(printed) == len(expected)
    assert [text for text, one, other in zip(texts, printed, expected, strict=True) if one[:-1] != other] == []
    if lowercase:
        check_plain(texts, ["".join(chr(int(code)) for code in line[-1].split()) for line in printed])


def check_plain(texts, plain):
    """Asserts that MediaPipe makes the ids of the training of plain texts.

    One text in a hundred of all of Unicode may differ: MediaPipe parts at punctuation that is younger than the
    reference's tables, and at some Han that the reference leaves out.
    """
    reference = EagerWordPiece(PIECES, lowercase=True)
    theirs = MediaPipeTokenizer(PIECES, lowercase=True)
    pairs = zip(reference.tokenize(texts).to_list(), theirs.tokenize(plain).to_list(), strict=True)
    assert sum(one != other for one, other in pairs) <= len(texts) / 100
    assert theirs.tokenize(texts).to_list() != reference.tokenize(texts).to_list()


def layout_rows(encoded, name):
    """An input of each row, without padding."""
    counts = np.sum(encoded["padding_mask"], axis=1)
    return [" ".join(map(str, row[:count])) for row, count in zip(np.asarray(encoded[name]), counts, strict=True)]
