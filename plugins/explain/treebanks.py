"""Reads a treebank for probes outside a job."""

import os
from pathlib import Path

from keras_bert.data.conllu import TreebankSentence, parse_conllu


def read_conllu(path: str | os.PathLike[str], tag: str = "upos") -> list[TreebankSentence]:
    r"""Reads a CoNLL-U file, as those of Universal Dependencies.

    Args:
        path: the file, in UTF-8.
        tag: the column of the tags: `upos`, `xpos` or `deprel`.
    """
    with Path(path).open(encoding="utf-8-sig") as lines:
        return [sentence for sentence, _ in parse_conllu((line.rstrip("\r\n") for line in lines), str(path), tag)]
