"""Documents that are searched by their sentences, too: a document is as near to a query as the nearest of its texts."""

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
        ends = np.cumsum([len(piece) for piece in pieces], dtype="int64")
        return cls([text for piece in pieces for text in piece], np.concatenate([[0], ends[:-1]]).astype("int64"))

    def pool(self, similarities: Any) -> Any:
        """The largest similarity of each document: (queries, texts) -> (queries, documents)."""
        return np.maximum.reduceat(similarities, self.starts, axis=1)

    def search(self, task: "Embedding", queries: Sequence[str], vectors: Any, *, top_k: int = 5) -> "list[list[Match]]":
        """For each query the nearest documents, best first.

        Args:
            task: the model of the queries.
            queries: the queries.
            vectors: `task.predict(pieces.texts, prompt="passage")`, or those of a model of the same space.
            top_k: maximum number of results of a query.

        Returns:
            Matches: the nearest text of a document, its similarity, and the index of the document.

        Raises:
            ValueError: `top_k` is below 1, or there are not as many vectors as texts.
        """
        from keras_bert.tasks.embedding import Match

        check("Pieces", "top_k", top_k >= 1, "be at least 1", top_k)
        rule = f"be {len(self.texts)}, one for each of texts"
        check("Pieces", "vectors", len(vectors) == len(self.texts), rule, len(vectors))
        ends, results = [*self.starts[1:], len(self.texts)], []
        for similarities in task.compare(task.predict(queries, prompt="query"), vectors):
            best = np.argsort(-self.pool(similarities[None])[0], kind="stable")[:top_k]
            places = [self.starts[index] + np.argmax(similarities[self.starts[index] : ends[index]]) for index in best]
            results.append(
                [
                    Match(self.texts[place], float(similarities[place]), int(index))
                    for place, index in zip(places, best, strict=True)
                ]
            )
        return results
