"""Texts without labels that validation or test rows have, too: counted, dropped or refused."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.overlap import HELD_OUT, HeldOutKeys, refuse_overlap
from components.sources.shared import NearOverlap, Overlap

logger = logging.getLogger(__name__)


def resolve_leaks(
    texts: Sequence[str],
    splits: Mapping[str, Sequence[Any]],
    task: TaskRows[Any],
    *,
    overlap: Overlap,
    near_overlap: NearOverlap,
) -> tuple[list[str], dict[str, int]]:
    """Keeps, drops or refuses texts that are those of a validation or test row, exactly or nearly.

    A model that learns from the teacher's answers to test texts is no longer measured on new ones.

    Returns:
        The texts that stay, and the counts of those that were found, by names such as `unlabelled_in_test` and
        `unlabelled_near_test`.

    Raises:
        InputError: there are such texts, and their setting is `error`; or none is left.
    """
    keys = {split: [(text,) for row in splits.get(split, ()) for text in task.key(row) if text] for split in HELD_OUT}
    held_out = HeldOutKeys(keys, overlap, near_overlap)
    kept, counts = [], Counter[str]()
    for text in texts:
        matches = held_out.find((text,))
        counts.update(f"unlabelled_{relation}_{split}" for relation, split in matches)
        if not held_out.drops(matches):
            kept.append(text)
    for relation, treatment in held_out.treatments.items():
        for split in HELD_OUT:
            count = counts[f"unlabelled_{relation}_{split}"]
            if count:
                nearly = "nearly " * (relation == "near")
                clause = f"{count} of {len(texts)} unlabelled texts are {nearly}those of {split} rows"
                if treatment == "error":
                    refuse_overlap(relation, [clause])
                logger.warning("%s%s", clause, ", and dropped" if treatment == "drop" else "")
    if texts and not kept:
        raise InputError("unlabelled must hold a text that no validation or test row has, got none; add other texts")
    return kept, dict(counts)
