"""Texts that a page searches, with their vectors as int8 numbers."""

import base64
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from keras_bert.core.checks import check

if TYPE_CHECKING:
    import numpy as np

    from keras_bert.tasks.embedding import Embedding

# Texts of a batch, after which progress is reported.
_BATCH = 1000


class SearchCorpus(NamedTuple):
    """The texts that a page searches, their vectors by `int8_codes` (texts, width), and the space of these."""

    texts: Sequence[str]
    codes: "np.ndarray[Any, Any]"
    space: str = ""

    def scripts(self) -> str:
        """The elements of a page that hold the texts and, in base64, their vectors."""
        codes = base64.b64encode(self.codes.tobytes()).decode()
        texts = ",".join(map(_escape, self.texts))
        return (
            f'<script type="application/json" id="texts">[{texts}]</script>\n'
            f'<script type="text/plain" data-space="{self.space}" id="codes">{codes}</script>\n'
        )


def embed_corpus(
    task: "Embedding", texts: Sequence[str], report: Callable[[int], object] = lambda done: None
) -> SearchCorpus:
    """Makes the vectors of texts, at least one, behind the prompt of passages; long ones are truncated.

    `report` is called with the number of texts that have vectors.
    """
    import numpy as np

    from keras_bert.core.vector_codes import int8_codes

    function, rule = task.similarity_function, "be 'cosine', as the page compares no other way"
    check("embed_corpus", "task.similarity_function", function == "cosine", rule, function)
    parts = []
    for start in range(0, len(texts), _BATCH):
        batch = texts[start : start + _BATCH]
        parts.append(int8_codes(task.predict(batch, prompt="passage")))
        report(start + len(batch))
    return SearchCorpus(texts, np.concatenate(parts), task.space)


def page_bytes(text: str, width: int) -> float:
    """The bytes that a text and its vector with `width` entries take in a page."""
    return len(_escape(text).encode()) + 1 + width * 4 / 3


def _escape(text: str) -> str:
    """A text as JSON, in which no `<` can end the script."""
    return json.dumps(text, ensure_ascii=False).replace("<", "\\u003c")
