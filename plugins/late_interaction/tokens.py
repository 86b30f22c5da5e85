"""The tokens of queries and passages of ColBERT, and the score of their vectors."""

import string
from collections.abc import Sequence
from typing import Any

import numpy as np

from keras_bert.core.validation import validated_dataclass

Array = np.ndarray[Any, Any]


@validated_dataclass
class TokenRules:
    """How rows of queries and passages differ (Khattab and Zaharia 2020, section 3.2; the settings of PyLate).

    Attributes:
        query_prefix: the token of the vocabulary behind the first token of a query; empty for none.
        document_prefix: that of a passage.
        query_length: the most tokens of a query, special tokens and the prefix included.
        do_query_expansion: whether queries are filled with mask tokens up to this length.
        attend_to_expansion_tokens: whether other tokens attend to these mask tokens.
        skiplist_words: tokens of passages that are read and have no part in scores. An unknown word stands for the
            unknown token, as in PyLate.
    """

    query_prefix: str = ""
    document_prefix: str = ""
    query_length: int = 32
    do_query_expansion: bool = True
    attend_to_expansion_tokens: bool = False
    skiplist_words: tuple[str, ...] = tuple(string.punctuation)


def mark_rows(
    lib: Any, ids: Any, mask: Any, *, prefix: int | None, length: int, sep_id: int, filling: tuple[int, int] | None
) -> tuple[Any, Any]:
    """Rows as ColBERT reads them: (rows, tokens) twice -> ids and mask (rows, at most `length`).

    Args:
        lib: `numpy` or `keras.ops`.
        ids: token ids, `[CLS] text [SEP]`.
        mask: 1 for a token and 0 for padding.
        prefix: the id of the token behind the first one; None for none.
        length: the most tokens.
        sep_id: the last token of a text, also of one that is cut.
        filling: the id and the mask of what fills rows up to the length; None for rows as they are. A mask of -1 is
            that of a token that is read and that no token attends to: it is no padding, which files cut off.
    """
    kept = length - (prefix is not None)
    ids, mask = ids[:, :kept], mask[:, :kept]
    is_cut = (lib.cumsum(lib.ones_like(mask), axis=1) == kept) & (mask > 0)
    ids = lib.where(is_cut, sep_id, ids)
    if prefix is not None:
        first = lib.ones_like(ids[:, :1])
        ids = lib.concatenate([ids[:, :1], first * prefix, ids[:, 1:]], axis=1)
        mask = lib.concatenate([mask[:, :1], first, mask[:, 1:]], axis=1)
    if filling is None:
        return ids, mask
    ids, mask = (lib.pad(rows, ((0, 0), (0, length)))[:, :length] for rows in (ids, mask))
    return lib.where(mask > 0, ids, filling[0]), lib.where(mask > 0, mask, filling[1])


def maxsim(query: Array, passages: Array, starts: Array) -> Array:
    """The sum over a query's tokens of the largest inner product with a token of each passage.

    Khattab and Zaharia 2020, equation 3. Query (tokens, width), the tokens of all passages (all tokens, width), and
    where each passage starts (passages,) -> (passages,).
    """
    return np.asarray(np.maximum.reduceat(query @ passages.T, starts, axis=1).sum(axis=0), "float32")


def compare_tokens(queries: Sequence[Array], passages: Sequence[Array]) -> Array:
    """`maxsim` of all pairs, float32: n and m arrays (tokens, width) -> (n, m)."""
    starts = np.cumsum([0, *map(len, passages[:-1])])
    tokens = np.concatenate(list(passages))
    return np.stack([maxsim(query, tokens, starts) for query in queries])


def pool_tokens(vectors: Array, factor: int, protected: int = 1) -> Array:
    """Fewer vectors of a passage: the means of clusters of similar ones (Clavié et al. 2024, section 3).

    The clusters are PyLate's, by Ward's method on 1 - cosine; the first `protected` vectors stay. (tokens, width) ->
    (about tokens / factor, width).
    """
    from scipy.cluster import hierarchy

    kept, others = vectors[:protected], vectors[protected:]
    count = max(len(others) // factor, 1)
    if count >= len(others):
        return vectors
    distances = (1 - others @ others.T)[np.triu_indices(len(others), k=1)]
    labels = hierarchy.fcluster(hierarchy.linkage(distances, method="ward"), t=count, criterion="maxclust")
    return np.concatenate([kept, *(others[labels == label].mean(axis=0, keepdims=True) for label in np.unique(labels))])
