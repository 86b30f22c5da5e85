"""Chooses the documents of a corpus that are held out for validation: whole documents, even if they were cut."""

import hashlib
import math
from collections.abc import Mapping, Sequence

from components.corpus.shards import ShardDocument
from components.dsl.errors import InputError


def choose_cut_documents(parts: Mapping[str, int], share: float, documents: int) -> frozenset[str]:
    """Chooses the held-out documents among those that were cut into parts.

    Documents are taken in the order of their hashes, as long as their parts are at most `share` of all parts of cut
    documents. If a corpus holds cut documents only and none fits, the document with the fewest parts is held out.

    `parts` has the number of parts by cut document, keyed as `ShardDocument.whole`; in `documents` every part counts as
    one.
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
    """Chooses the held-out documents of a shard and returns their positions.

    All parts of held-out cut documents are held out. Of the other documents, those with the smallest hashes of their
    ids follow, but at least two documents stay for training if the parts leave that many.

    `share` is that of the uncut documents, rounded up to whole documents.
    """
    held = {number for number, document in enumerate(documents) if document.whole in wholes}
    others = [number for number, document in enumerate(documents) if document.whole is None]
    count = min(math.ceil(share * len(others)), max(0, len(documents) - len(held) - 2))
    return held.union(sorted(others, key=lambda number: hash_key(documents[number].id))[:count])


def hash_key(key: str) -> int:
    """A 64-bit hash of a string: an order or a seed that depends on the string alone."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")
