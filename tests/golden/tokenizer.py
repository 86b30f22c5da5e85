"""Golden ids and offsets of Hugging Face `tokenizers` on hard texts.

    python -m tests.golden.tokenizer --reference-python PATH

writes `tests/golden/tokenizer.json`; PATH is an interpreter with `tokenizers`, 0.23.3 when it was last written.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_bert.tokenizers.tokenizer import Tokenizer
from tests.golden.hard_texts import TEXTS, VOCABULARY

HERE = Path(__file__).parent


class Reference(NamedTuple):
    """What the reference makes of texts: (texts,) pieces of each, (pieces,) ids and offsets; and how long it took."""

    sizes: NDArray[np.int32]
    ids: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    version: str
    seconds: float

    def rows(self, name: str) -> list[NDArray[np.int32]]:
        """Ids, starts or ends as one array a text."""
        return np.split(getattr(self, name), np.cumsum(self.sizes)[:-1])


def ask_reference(python: str, vocabulary: tuple[str, ...], lowercase: bool, texts: list[str]) -> Reference:
    """Runs `tokenizer_reference.py` on one thread."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "vocab.txt").write_bytes("".join(f"{piece}\n" for piece in vocabulary).encode())
        (folder / "texts.json").write_text(json.dumps(texts))
        case = "lowercase" if lowercase else "cased"
        script = [python, str(HERE / "tokenizer_reference.py")]
        printed = subprocess.run(
            [*script, str(folder / "vocab.txt"), case, str(folder / "texts.json"), str(folder / "out.bin")],
            check=True,
            capture_output=True,
            env={"TOKENIZERS_PARALLELISM": "false"},
        ).stdout
        actual_ids = np.fromfile(folder / "out.bin", np.int32)
    sizes, pieces = actual_ids[1 : actual_ids[0] + 1], actual_ids[actual_ids[0] + 1 :]
    ids, starts, ends = np.split(pieces, 3)
    return Reference(sizes, ids, starts, ends, **json.loads(printed))


class Differences(NamedTuple):
    """How many texts and pieces were compared, and in how many of the texts ids and offsets differ."""

    texts: int
    pieces: int
    ids: int
    offsets: int


def compare(tokenizer: Tokenizer, expected: Reference, texts: list[str]) -> Differences:
    """Counts the texts that the tokenizer and the reference treat differently."""
    _, starts, ends = tokenizer.tokenize_with_offsets(texts)
    other_starts, other_ends = _differ(starts, expected.rows("starts")), _differ(ends, expected.rows("ends"))
    return Differences(
        len(texts),
        len(expected.ids),
        int(_differ(tokenizer.tokenize(texts), expected.rows("ids")).sum()),
        int((other_starts | other_ends).sum()),
    )


def _differ(tokens: tf.RaggedTensor, expected: list[NDArray[np.int32]]) -> NDArray[np.bool_]:
    rows = np.split(tokens.flat_values.numpy(), tokens.row_splits.numpy()[1:-1])
    return np.array([not np.array_equal(row, other) for row, other in zip(rows, expected, strict=True)])


def main() -> None:
    """Writes `tokenizer.json`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--reference-python", required=True)
    python = parser.parse_args().reference_python
    golden: dict[str, object] = {}
    for case, lowercase in (("lowercase", True), ("cased", False)):
        ids = ask_reference(python, VOCABULARY, lowercase, list(TEXTS))
        golden["tokenizers"] = ids.version
        golden[case] = {name: [row.tolist() for row in ids.rows(name)] for name in ("ids", "starts", "ends")}
    golden["texts"] = list(TEXTS)
    golden["vocabulary"] = list(VOCABULARY)
    (HERE / "tokenizer.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
