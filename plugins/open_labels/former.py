"""Examples that devices added to a former model, in the table of a model that was trained again."""

from collections.abc import Mapping, Sequence

import numpy as np

from keras_bert.core.checks import check
from plugins.open_labels.label_file import unpack_export
from plugins.open_labels.label_space import Array
from plugins.open_labels.label_table import LabelTable
from plugins.open_labels.task import OpenLabels

# Of the texts, those that say how well the regression predicts; each fifth.
_HELD_OUT = 5
_PENALTIES = tuple(10.0**power for power in range(-1, 5))
_FEWEST_TEXTS = 50


def merge_former(task: OpenLabels, former: OpenLabels, exported: Sequence[bytes], texts: Sequence[str]) -> float:
    """Adds what `LabelTable.export` gave of copies of a former model's table to the table of a newer model.

    The two models give a text different vectors. A ridge regression over `texts` predicts the newer ones from the
    former ones. It is linear, so that it maps the sum of vectors to the sum of the mapped vectors, and no text of the
    added examples is needed. An example counts for 1 / (1 + e) examples, where e is the mean squared error of the
    regression on texts that are left out, in units of the variance within a label. All exports are one change, which
    `undo` takes back. The table's own `export` does not repeat them.

    Args:
        task: the newer model, as the job made it, or its file.
        former: the model whose table the devices had, or its file.
        exported: what the devices exported.
        texts: at least 50 texts of the kind that the models read, such as the training rows.

    Returns:
        The number of examples that one added example counts for, 0 to 1.

    Raises:
        ValueError: an export is of another table than `former`, or is damaged; there are too few texts.
    """
    check("merge_former", "texts", len(texts) >= _FEWEST_TEXTS, f"be at least {_FEWEST_TEXTS} texts", len(texts))
    counts, sums = _add_up(former.table, exported)
    return add_mapped(task.table, former.table, counts, sums, task.predict(texts), former.predict(texts))


def add_mapped(
    table: LabelTable,
    former: LabelTable,
    counts: Mapping[str, int],
    sums: Mapping[str, Array],
    vectors: Array,
    former_vectors: Array,
) -> float:
    """Adds sums of a former table to a newer one, see `merge_former`.

    Label -> number of examples, and their sum; vectors (texts, width) of both models -> what one example counts for.
    """
    factors, offset, error = _fit_map(former.space.project(former_vectors), table.space.project(vectors))
    worth = 1.0 / (1.0 + error)
    mapped = {name: worth * (total @ factors + counts[name] * offset) for name, total in sums.items()}
    table.add_sums({name: (worth * counts[name], total) for name, total in mapped.items()})
    return worth


def _add_up(table: LabelTable, exported: Sequence[bytes]) -> tuple[dict[str, int], dict[str, Array]]:
    """Of each label the number and the sum of the examples that were added to copies of a table."""
    counts = dict[str, int]()
    sums = dict[str, Array]()
    for content in exported:
        for name, (count, total) in unpack_export(content, table.space, "the former table").items():
            counts[name] = counts.get(name, 0) + count
            sums[name] = sums.get(name, 0.0) + total.astype("float64")
    return counts, sums


def _fit_map(old: Array, new: Array) -> tuple[Array, Array, float]:
    """Old and new coordinates (rows, width) -> factors (old width, width), offset (width,) and mean squared error."""
    from sklearn.linear_model import RidgeCV

    is_left_out = np.arange(len(old)) % _HELD_OUT == 0
    regression = RidgeCV(alphas=_PENALTIES).fit(old[~is_left_out], new[~is_left_out])
    error = float(np.mean((regression.predict(old[is_left_out]) - new[is_left_out]) ** 2))
    return regression.coef_.T, regression.intercept_, error
