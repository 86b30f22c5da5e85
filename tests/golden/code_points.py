"""Where Hugging Face `tokenizers` departs from tensorflow-text, and from `unicodedata`.

    python -m tests.golden.code_points --reference-python PATH

prints the constants of `keras_bert/tokenizers/unicode_rules.py` and of `tests/golden/unicode_rules.py`; PATH is an
interpreter with `tokenizers`. Punctuation is also asked of tensorflow-text. Last printed with tokenizers 0.23.3,
tensorflow-text 2.21.1 and Unicode 14.0.0 of Python 3.11.
"""

import argparse
import json
import subprocess
import unicodedata
from collections.abc import Iterable
from importlib.metadata import version

import tensorflow as tf
import tensorflow_text as tf_text

CODE_POINTS = [code_point for code_point in range(0x110000) if not 0xD800 <= code_point < 0xE000]

# Runs in the other interpreter: what each character becomes, cased and lowercased, and whether it stands alone.
ASK = """
import json, tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
cased, lower = (BertNormalizer(lowercase=lowercase) for lowercase in (False, True))
characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
alone = [len(BertPreTokenizer().pre_tokenize_str(f"a{c}b")) == 3 for c in characters]
found = [[n.normalize_str(c) for c in characters] for n in (cased, lower)]
print(json.dumps([tokenizers.__version__, *found, alone]))
"""


def ask_reference(python: str) -> tuple[str, dict[int, str], dict[int, str], dict[int, bool]]:
    """The version, and for each code point its cased and lowercased form, and whether it is punctuation."""
    answers = json.loads(subprocess.run([python, "-c", ASK], check=True, capture_output=True).stdout)
    cased, lower, alone = (dict(zip(CODE_POINTS, part, strict=True)) for part in answers[1:])
    return answers[0], cased, lower, alone


def isolated_by_op() -> set[int]:
    """What tensorflow-text takes for punctuation or Chinese."""
    matcher = tf_text.FastWordpieceTokenizer(["[UNK]", "a", "b", "##b"], token_out_type=tf.int32)
    # Letters of the vocabulary and U+0000 aside, a word of a and an unknown letter is one unknown piece.
    others = [code_point for code_point in CODE_POINTS if code_point and chr(code_point) not in "ab"]
    pieces = matcher.tokenize([f"a{chr(code_point)}b" for code_point in others]).row_lengths().numpy()
    return {code_point for code_point, count in zip(others, pieces, strict=True) if count == 3}


def to_ranges(code_points: Iterable[int]) -> str:
    """Ranges in hexadecimal, ends included."""
    ranges: list[list[int]] = []
    for code_point in sorted(code_points):
        if ranges and ranges[-1][1] == code_point - 1:
            ranges[-1][1] = code_point
        else:
            ranges.append([code_point, code_point])
    return " ".join(f"{first:x}" if first == last else f"{first:x}-{last:x}" for first, last in ranges)


def find_exceptions(python: str) -> dict[str, str]:
    """Name of a constant -> its ranges, and the versions."""
    told_version, cased, lower, alone = ask_reference(python)
    category = {code_point: unicodedata.category(chr(code_point)) for code_point in CODE_POINTS}
    op = isolated_by_op()

    def where(*categories: str) -> list[int]:
        return [code_point for code_point in CODE_POINTS if category[code_point] in categories]

    punctuation = [c for c in CODE_POINTS if c > 127 and (category[c].startswith("P") or (c in op and not alone[c]))]
    return {
        "versions": f"{told_version}, {version('tensorflow-text')}, {unicodedata.unidata_version}",
        "LATER_FORMATS": to_ranges(c for c in where("Cf") if cased[c]),
        "LATER_MARKS": to_ranges(c for c in where("Mn") if lower[c]),
        "FORMER_MARKS": to_ranges(c for c in where("Mc") if not lower[c]),
        "LATER_DECOMPOSITIONS": to_ranges(
            c for c in where("Mc") if lower[c] == chr(c) != unicodedata.normalize("NFD", chr(c))
        ),
        "LATER_LOWER_CASE": ",".join(
            f"{c:x} {ord(lower[c]):x}" for c in where("Cn") if lower[c] not in (chr(c), f" {chr(c)} ")
        ),
        "LATER_PUNCTUATION, and Chinese that is skipped": to_ranges(
            c for c in punctuation if not alone[c] and cased[c] == chr(c)
        ),
        "FORMER_PUNCTUATION": to_ranges(
            c for c in CODE_POINTS if c > 127 and alone[c] and not category[c].startswith("P")
        ),
    }


def main() -> None:
    """Prints the constants."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference-python", required=True)
    for name, ranges in find_exceptions(parser.parse_args().reference_python).items():
        print(f"{name}\n    {ranges}")


if __name__ == "__main__":
    main()
