"""Copies of training rows, with replaced words, that are validation or test rows: counted, dropped or refused."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from components.artifacts.data import TaskExamples
from components.dsl.errors import InputError
from components.examples.near_overlap import NearTexts
from components.examples.overlap import HELD_OUT
from components.sources.shared import NearOverlap, Overlap

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]
    Batch = dict[str, Array]

_ROWS = 64


class CopyFilter:
    """Looks copies up among the tokens of validation and test rows; pairs of adjacent tokens stand for those of words.

    Args:
        examples: the rows.
        overlap: what happens to copies with the tokens of such a row.
        near_overlap: likewise for those with nearly the same tokens, see `NearTexts`.
    """

    def __init__(self, examples: TaskExamples, overlap: Overlap, near_overlap: NearOverlap) -> None:
        from keras_bert.data.task_batches import task_batches

        self._settings = {"in": overlap, "near": near_overlap}
        self._splits = {
            split: NearTexts(
                key
                for tensors in task_batches(examples.path, split, _ROWS).epoch()
                for key in _list_keys({name: tensor.numpy() for name, tensor in tensors.items()})
            )
            for split in HELD_OUT
        }

    def select(self, batch: "Batch", counts: Counter[str]) -> "Batch":
        """The copies that stay.

        Args:
            batch: the inputs of the copies, and labels.
            counts: gets the numbers of those that were found, by names such as `copies_near_test`.

        Raises:
            InputError: there are such copies, and their setting is `error`.
        """
        import numpy as np

        stays = np.ones(len(batch["token_ids"]), bool)
        for number, key in enumerate(_list_keys(batch)):
            for split, rows in self._splits.items():
                for relation, is_held_out in (("in", rows.has_equal), ("near", rows.has_near)):
                    setting = self._settings[relation]
                    if setting == "off" or not is_held_out(key):
                        continue
                    if setting == "error":
                        name, nearly = ("overlap", "") if relation == "in" else ("near_overlap", "nearly ")
                        advice = f"lower teacher_labels.replaced, or set examples.{name} to 'drop' or 'keep'"
                        clause = f"a copy of a training row with replaced words is {nearly}a {split} row"
                        raise InputError(f"examples.{name} is 'error', and {clause}; {advice}")
                    counts[f"copies_{relation}_{split}"] += 1
                    stays[number] &= setting != "drop"
        return {name: values[stays] for name, values in batch.items()}


def _list_keys(batch: "Batch") -> list[tuple[str, ...]]:
    """The tokens of each row as texts of numbers; of rows that are read apart, one for each text."""
    prefixes = [prefix for prefix in ("", "second_") if f"{prefix}token_ids" in batch]
    sides = [zip(batch[f"{prefix}token_ids"], batch[f"{prefix}padding_mask"], strict=True) for prefix in prefixes]
    return [tuple(" ".join(map(str, ids[mask == 1].tolist())) for ids, mask in row) for row in zip(*sides, strict=True)]
