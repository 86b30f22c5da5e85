"""Rows made of training rows, that are validation or test rows: counted, dropped or refused."""

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from components.artifacts.standard import TaskExamples
from components.dsl.arrays import Array
from components.examples.overlap import HELD_OUT, HeldOutKeys, refuse_overlap
from components.sources.shared import NearOverlap, Overlap

if TYPE_CHECKING:
    Batch = dict[str, Array]

_ROWS = 64


class CopyFilter:
    """Looks rows up among the tokens of held-out rows; pairs of adjacent tokens replace pairs of words."""

    def __init__(self, examples: TaskExamples, overlap: Overlap, near_overlap: NearOverlap) -> None:
        from keras_bert.data.task_batches import task_batches

        keys = {
            split: [
                key
                for tensors in task_batches(examples.path, split, _ROWS).epoch()
                for key in _list_keys({name: tensor.numpy() for name, tensor in tensors.items()})
            ]
            for split in HELD_OUT
        }
        self._held_out = HeldOutKeys(keys, overlap, near_overlap)

    def select(self, batch: "Batch", kind: str, counts: Counter[str]) -> "Batch":
        """The rows that stay, all `copies` or all `new_pairs`.

        `counts` gets the numbers of those that were found, by names such as `copies_near_test`.
        """
        stays = np.ones(len(batch["token_ids"]), bool)
        for number, key in enumerate(_list_keys(batch)):
            matches = self._held_out.find(key)
            for relation, split in matches:
                if self._held_out.treatments[relation] == "error":
                    nearly, is_copy = "nearly " * (relation == "near"), kind == "copies"
                    made = "copy of a training row with replaced words" if is_copy else "new pair of training texts"
                    way_out = "lower teacher_labels.replaced" if is_copy else "leave out teacher_labels.new_pairs"
                    refuse_overlap(relation, [f"a {made} is {nearly}a {split} row"], way_out)
                counts[f"{kind}_{relation}_{split}"] += 1
            stays[number] = not self._held_out.drops(matches)
        return {name: values[stays] for name, values in batch.items()}


def _list_keys(batch: "Batch") -> list[tuple[str, ...]]:
    """The tokens of each row as texts of numbers; of rows that are read apart, one for each text."""
    prefixes = [prefix for prefix in ("", "second_") if f"{prefix}token_ids" in batch]
    sides = [zip(batch[f"{prefix}token_ids"], batch[f"{prefix}padding_mask"], strict=True) for prefix in prefixes]
    return [tuple(" ".join(map(str, ids[mask == 1].tolist())) for ids, mask in row) for row in zip(*sides, strict=True)]
