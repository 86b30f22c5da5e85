"""Hugging Face `tokenizers` on a list of texts; runs in an interpreter of its own, which needs that library alone.

    REFERENCE_PYTHON tests/golden/tokenizer_reference.py vocab.txt lowercase texts.json out.bin

Writes int32: the number of texts, the pieces of each text, then all ids, all starts, all ends. Prints the version of
the library and the seconds that encoding took. Added special tokens are left out, so that `[MASK]` in a text is text.
"""

import json
import sys
import time
from array import array

import tokenizers
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

BATCH = 5000


def main() -> None:
    """Reads `texts.json`, writes `out.bin`."""
    vocabulary, case, source, target = sys.argv[1:]
    with open(vocabulary, encoding="utf-8", newline="\n") as lines:
        tokenizer = build([line.removesuffix("\n") for line in lines], case == "lowercase")
    with open(source, encoding="utf-8") as file:
        texts = json.load(file)
    sizes, ids, starts, ends = (array("i") for _ in range(4))
    seconds = 0.0
    for first in range(0, len(texts), BATCH):
        start = time.perf_counter()
        encodings = tokenizer.encode_batch(texts[first : first + BATCH], add_special_tokens=False)
        seconds += time.perf_counter() - start
        for encoding in encodings:
            sizes.append(len(encoding.ids))
            ids.extend(encoding.ids)
            for begin, end in encoding.offsets:
                starts.append(begin)
                ends.append(end)
    with open(target, "wb") as file:
        for part in (array("i", [len(texts)]), sizes, ids, starts, ends):
            part.tofile(file)
    print(json.dumps({"version": tokenizers.__version__, "seconds": seconds}))


def build(vocabulary: list[str], lowercase: bool) -> Tokenizer:
    """What `BertWordPieceTokenizer` is made of."""
    ids = {piece: number for number, piece in enumerate(vocabulary)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=lowercase
    )
    tokenizer.pre_tokenizer = BertPreTokenizer()
    return tokenizer


if __name__ == "__main__":
    main()
