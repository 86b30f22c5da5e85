"""Chooses the documents of a corpus that are held out for validation: whole documents, even if they were cut."""

import hashlib
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from components.corpus.shards import ShardDocument
from components.dsl.errors import InputError


class HeldOutCuts(NamedTuple):
    """Cut documents that are held out, up to a hash and some others; small even if they are many."""

    last: str = ""
    others: frozenset[str] = frozenset()

    def holds_out(self, whole: str | None) -> bool:
        """Whether the document with this `ShardDocument.whole` is held out; None is an uncut document."""
        return whole is not None and (whole <= self.last or whole in self.others)


NO_CUTS = HeldOutCuts()


def choose_cut_documents(parts: Iterable[tuple[str, int]], share: float, documents: int) -> HeldOutCuts:
    """Chooses the held-out documents among those that were cut into parts.

    Documents are taken in the order of their hashes, as long as their parts are at most `share` of all parts of cut
    documents. If a corpus holds cut documents only and none fits, the document with the fewest parts is held out.

    `parts` has the number of parts by cut document, sorted by `ShardDocument.whole`, and is read several times; in
    `documents` every part counts as one.
    """
    total = sum(count for _, count in parts)
    left = share * total
    last, others, is_full = "", set(), False
    for whole, count in parts:
        if count > left:
            is_full = True
            continue
        left -= count
        if is_full:
            others.add(whole)
        else:
            last = whole
    if last or others or total < documents:
        return HeldOutCuts(last, frozenset(others))
    if sum(1 for _ in parts) < 2:
        raise InputError(
            "the corpus must hold at least 2 documents (a blank line ends a document) for a held-out part, "
            f"got one, which was cut into {documents} parts"
        )
    return HeldOutCuts(others=frozenset([min(parts, key=lambda pair: (pair[1], pair[0]))[0]]))


def hold_out_documents(documents: Sequence[ShardDocument], share: float, cuts: HeldOutCuts) -> set[int]:
    """Chooses the held-out documents of a shard and returns their positions.

    All parts of held-out cut documents are held out. Of the other documents, those with the smallest hashes of their
    ids follow, but at least two documents stay for training if the parts leave that many.

    `share` is that of the uncut documents, rounded up to whole documents.
    """
    held = {number for number, document in enumerate(documents) if cuts.holds_out(document.whole)}
    others = [number for number, document in enumerate(documents) if document.whole is None]
    count = min(math.ceil(share * len(others)), max(0, len(documents) - len(held) - 2))
    return held.union(sorted(others, key=lambda number: hash_key(documents[number].id))[:count])


def hash_key(key: str) -> int:
    """A 64-bit hash of a string: an order or a seed that only depends on the string."""
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")
