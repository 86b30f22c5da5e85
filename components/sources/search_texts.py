"""The texts that the page of a pushed model searches."""

from collections.abc import Iterable
from typing import NamedTuple

import pydantic

from components.dsl.errors import InputError
from components.sources.text import TextSource, read_lines
from components.text.sentences import split_sentences
from keras_bert.core.validation import validated_dataclass

_MEGABYTE = 1e6


@validated_dataclass(kw_only=False)
class SearchTexts(TextSource):
    """The texts that `index.html` of an embedding or a retrieval searches.

    Attributes:
        path: text files as in `[corpus]`, one text per line; if empty, a retrieval job searches the passages and
            negatives of `[examples]`.
        sentences: whether the sentences of each text are texts of the page, too. The sentence that answers a question
            is nearer to it than the text around the sentence.
        max_megabytes: maximum size of the texts and their vectors in the page, in megabytes, above 0.
    """

    path: str = ""
    sentences: bool = False
    max_megabytes: pydantic.PositiveFloat = 50.0

    def check(self) -> None:
        if self.path:
            super().check()

    def digests(self) -> dict[str, str]:
        return super().digests() if self.path else {}


class SizedTexts(NamedTuple):
    """Texts, and the size of the texts and their vectors in a page."""

    texts: list[str]
    megabytes: float


def read_search_texts(source: SearchTexts, passages: Iterable[str], width: int) -> SizedTexts:
    """The distinct texts that a page searches, in their order.

    `passages` are searched if `source` has no path. `width` is the dimension of a vector.
    """
    from keras_bert.clients.search_corpus import page_bytes

    texts, megabytes = dict[str, None](), 0.0
    for text in read_lines(source) if source.path else passages:
        for part in (text, *(split_sentences(text) if source.sentences else ())):
            if part in texts:
                continue
            megabytes += page_bytes(part, width) / _MEGABYTE
            if megabytes > source.max_megabytes:
                rule = f"hold the texts and their vectors of {width} numbers, got {source.max_megabytes:g}"
                advice = "raise it, or search fewer texts"
                raise InputError(f"page.max_megabytes must {rule}, which {len(texts)} texts fill; {advice}")
            texts[part] = None
    if not texts:
        raise InputError(f"page must have at least one text to search, got none in {source.path or '[examples]'}")
    return SizedTexts([*texts], megabytes)
