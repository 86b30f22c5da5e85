"""Golden operations: changes of a table and the answers after each, to test a client of another language against."""

import base64
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from plugins.open_labels.label_space import Array
from plugins.open_labels.label_table import LabelTable

# How often a change of each kind is drawn, of 19. Names alone are added as `name`.
_KINDS = ("add",) * 4 + ("name",) * 2 + ("examples",) * 5 + ("rename", "remove", "merge") * 2 + ("undo",) * 2
# The labels that a table keeps, so that there is something to answer.
_FEWEST = 2


def golden_operations(table: LabelTable, count: int = 100, seed: int = 0) -> list[str]:
    """Random changes of a copy of a table, each followed by an answer: lines of fields that tabs separate.

    Returns:
        Lines of changes: the kind, a label, another label, and base64 of the vectors (float32, one after the other) or,
        of `merge`, of an export. The kinds are the methods `add`, `add_examples` (`examples`), `rename`, `remove`,
        `merge` and `undo`; `name` adds a label by the vector of its name. After each comes a line `answer` of a vector,
        whose second and third field, and the last, are the label, the probability and the score that a client must
        give to 1e-4; the label is empty for none of the labels.
    """
    chance, numbers = random.Random(seed), np.random.default_rng(seed)
    grown, changes, lines = table.copy(), 0, list[str]()
    coordinates = np.linalg.pinv(table.space.axes.astype("float64"))

    def draw(size: int) -> Array:
        """Vectors near the place of a random label, so that the scores are those of texts."""
        label = grown[chance.choice(grown.labels)]
        place = label.sums / max(label.weight, 1.0) + numbers.normal(size=(size, len(label.sums)))
        return np.asarray(place @ coordinates + table.space.center, "float32")

    while len(lines) < 2 * count:
        kind = chance.choice(_KINDS)
        label, other = chance.choice(grown.labels), f"new label {len(lines)} é"
        is_possible = {"remove": len(grown.labels) > _FEWEST, "undo": changes > 0}.get(kind, True)
        if not is_possible:
            continue
        label = other if kind in ("add", "name") else label
        vectors = draw(1 if kind == "name" else chance.randint(1, 10))
        exported = b""
        if kind == "merge":
            device = grown.copy()
            device.add_examples(label, vectors)
            device.add(other, vectors)
            exported = device.export()
        change: Mapping[str, tuple[Callable[..., None], tuple[Any, ...]]] = {
            "add": (grown.add, (label, vectors)),
            "name": (grown.add, (label, vectors[:0], vectors[0])),
            "examples": (grown.add_examples, (label, vectors)),
            "rename": (grown.rename, (label, other)),
            "remove": (grown.remove, (label,)),
            "merge": (grown.merge, (exported,)),
            "undo": (grown.undo, ()),
        }
        method, arguments = change[kind]
        method(*arguments)
        changes += -1 if kind == "undo" else 1
        given = exported if kind == "merge" else vectors.tobytes() if kind in ("add", "name", "examples") else b""
        lines.append("\t".join([kind, label, other if kind == "rename" else "", base64.b64encode(given).decode()]))
        lines.append(_answer_line(grown, draw(1)))
    return lines


def _answer_line(table: LabelTable, vector: Array) -> str:
    (answer,) = table.answer(vector)
    given = base64.b64encode(vector.tobytes()).decode()
    return "\t".join(["answer", answer.label or "", f"{answer.probability:.9g}", given, f"{answer.score:.9g}"])
