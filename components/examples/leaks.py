"""Texts without labels that validation or test rows have, too: counted, dropped or refused."""

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from components.dsl.errors import InputError
from components.examples.base import TaskRows
from components.examples.near_overlap import NearTexts
from components.examples.overlap import HELD_OUT
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

    Args:
        texts: the texts without labels.
        splits: the labelled rows; training rows are ignored.
        task: the task of the rows.
        overlap: what happens to texts that are equal, see `fold`.
        near_overlap: what happens to those that are nearly equal, see `NearTexts`.

    Returns:
        The texts that stay, and the counts of those that were found, by names such as `unlabelled_in_test` and
        `unlabelled_near_test`.

    Raises:
        InputError: there are such texts, and their setting is `error`; or none is left.
    """
    settings = {"in": overlap, "near": near_overlap}
    held_out = {split: NearTexts(_list_texts(splits.get(split, ()), task)) for split in HELD_OUT}
    kept, counts = [], Counter[str]()
    for text in texts:
        relations = [
            (relation, split)
            for split, rows in held_out.items()
            for relation, holds in (("in", rows.has_equal), ("near", rows.has_near))
            if settings[relation] != "off" and holds((text,))
        ]
        counts.update(f"unlabelled_{relation}_{split}" for relation, split in relations)
        if not any(settings[relation] == "drop" for relation, _ in relations):
            kept.append(text)
    for relation, name in (("in", "overlap"), ("near", "near_overlap")):
        for split in HELD_OUT:
            count = counts[f"unlabelled_{relation}_{split}"]
            if count:
                clause = (
                    f"{count} of {len(texts)} unlabelled texts are {'nearly ' * (relation == 'near')}those of {split}"
                )
                if settings[relation] == "error":
                    advice = f"remove them, or set examples.{name} to 'drop' or 'keep'"
                    raise InputError(f"examples.{name} is 'error', and {clause} rows; {advice}")
                logger.warning("%s rows%s", clause, ", and dropped" if settings[relation] == "drop" else "")
    if texts and not kept:
        raise InputError("unlabelled must hold a text that no validation or test row has, got none; add other texts")
    return kept, dict(counts)


def _list_texts(rows: Iterable[Any], task: TaskRows[Any]) -> list[tuple[str]]:
    """Each text of the rows as a key of its own."""
    return [(text,) for row in rows for text in task.key(row) if text]
