"""Which documents of a corpus are held out of pre-training: each as a whole, also one that was cut into parts."""

import hashlib
import math
from collections.abc import Mapping, Sequence

from components.corpus.shards import ShardDocument
from components.dsl.errors import InputError


def choose_cut_documents(parts: Mapping[str, int], share: float, documents: int) -> frozenset[str]:
    """The cut documents that are held out.

    They are taken in the order of their hashes, as long as their parts are no more than `share` of all parts of cut
    documents. In a corpus of nothing but cut documents the one of the fewest parts is held out if none fits.

    Args:
        parts: of each cut document, by what `ShardDocument.whole` calls it.
        share: of the parts that goes to validation.
        documents: of the corpus, where each part counts as one.

    Raises:
        InputError: all of the corpus is one document.
    """
    left = share * sum(parts.values())
    chosen = set()
    for whole in sorted(parts):
        if parts[whole] <= left:
            chosen.add(whole)
            left -= parts[whole]
    if chosen or sum(parts.values()) < documents:
        return frozenset(chosen)
    if len(parts) < 2:
        raise InputError(
            "the corpus must hold at least 2 documents (a blank line ends a document) for a held-out part, "
            f"got one, which was cut into {documents} parts"
        )
    return frozenset([min(parts, key=lambda whole: (parts[whole], whole))])


def hold_out_documents(documents: Sequence[ShardDocument], share: float, wholes: frozenset[str]) -> set[int]:
    """The numbers of the documents of a shard that are held out.

    These are the parts of the cut documents that are, and of all others those with the smallest hashes of their ids,
    but at least two documents stay for training where the parts leave as many.

    Args:
        documents: of the shard.
        share: of those that are no parts of a cut document, rounded up.
        wholes: the cut documents that are held out, see `choose_cut_documents`.
    """
    held = {number for number, document in enumerate(documents) if document.whole in wholes}
    others = [number for number, document in enumerate(documents) if document.whole is None]
    count = min(math.ceil(share * len(others)), max(0, len(documents) - len(held) - 2))
    return held.union(sorted(others, key=lambda number: hash_key(documents[number].id))[:count])


def hash_key(key: str) -> int:
    """64 bits that stand for a string: an order, or a seed, that depends on nothing else."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")
