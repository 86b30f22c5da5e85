"""Documents that are searched by their sentences, too: a document is as near to a query as the nearest of its texts."""

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from components.text.sentences import split_sentences
from keras_bert.core.checks import check

if TYPE_CHECKING:
    from keras_bert.tasks.embedding import Embedding, Match


class Pieces(NamedTuple):
    """Documents and their sentences.

    The vector of a text is a mean over its tokens, so that the sentence that answers a question is nearer to the
    question than its document is. The vectors of `texts` are an index for any search by vectors.

    Attributes:
        texts: each document, followed by its sentences where it has several.
        starts: the places of the documents in `texts`, int64 (documents,).

    Examples:
        >>> pieces = Pieces.of(["one film", "A film. A play."])
        >>> pieces.texts
        ['one film', 'A film. A play.', 'A film.', 'A play.']
        >>> pieces.starts.tolist()
        [0, 1]
        >>> pieces.pool(np.array([[0.5, 0.25, 0.75, 0.0]])).tolist()
        [[0.5, 0.75]]
    """

    texts: list[str]
    starts: Any

    @classmethod
    def of(cls, documents: Sequence[str]) -> "Pieces":
        """The pieces of documents."""
        parts = [split_sentences(text) for text in documents]
        pieces = [[text, *(part if len(part) > 1 else ())] for text, part in zip(documents, parts, strict=True)]
        counts = np.array([len(piece) for piece in pieces], "int64")
        return cls([text for piece in pieces for text in piece], np.cumsum(counts) - counts)

    def pool(self, similarities: Any) -> Any:
        """The largest similarity of each document: (queries, texts) -> (queries, documents)."""
        return np.maximum.reduceat(similarities, self.starts, axis=1)

    def search(
        self, task: "Embedding", queries: Sequence[str], *, top_k: int = 5, vectors: Any = None
    ) -> "list[list[Match]]":
        """For each query the nearest documents, best first: the nearest text of each, with the index of the document.

        Args:
            task: the model of the queries.
            queries: the queries.
            top_k: maximum number of documents of a query.
            vectors: those of `texts`, as for `Embedding.search`.

        Raises:
            ValueError: `top_k` is below 1, or there are no documents; see also `Embedding.search`.
        """
        check("Pieces", "texts", bool(self.texts), "hold at least one document", self.texts)
        check("Pieces", "top_k", top_k >= 1, "be at least 1", top_k)
        counts = np.diff([*self.starts, len(self.texts)])
        owners, results = np.repeat(np.arange(len(counts)), counts), []
        # Each better document has at most so many texts before the best one of the last.
        enough = (top_k - 1) * int(counts.max()) + 1
        for matches in task.search(queries, self.texts, top_k=enough, vectors=vectors):
            nearest: dict[int, Match] = {}
            for match in matches:
                nearest.setdefault(int(owners[match.index]), match)
            results.append([dataclasses.replace(match, index=owner) for owner, match in nearest.items()][:top_k])
        return results
