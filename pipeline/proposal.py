"""Tables that `init` proposes for rows, with the reason of each setting."""

from typing import Any, NamedTuple

from components.examples.row_traits import RowTraits

# Counts of labels that differ by more than this factor are worth a look at weights.
_IMBALANCE = 10


class Setting(NamedTuple):
    """A line of a job file: a key, its value, and why it is so."""

    key: str
    value: Any
    reason: str = ""


RECIPE = Setting("recipe", "mixed_wi8_ai8", "8 bits; other recipes: docs/guides/compress.md")


class SettingsTable(NamedTuple):
    """A table of a job file; its first one has no name."""

    name: str
    settings: list[Setting]


class Proposal(NamedTuple):
    """The tables that replace the usual ones, and the number of texts that their training reads."""

    tables: list[SettingsTable]
    texts: int


def propose_class_weights(rows: RowTraits) -> list[Setting]:
    """The key `class_weights` with a remark where labels are rare; empty otherwise."""
    counts = list(rows.labels.values())
    if not counts or counts[0] <= _IMBALANCE * counts[-1]:
        return []
    reason = (
        f'counts of labels from {counts[-1]} to {counts[0]}; "balanced" weighs rare ones more, at the others\' cost'
    )
    return [Setting("class_weights", "none", reason)]
