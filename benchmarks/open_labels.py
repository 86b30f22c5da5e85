"""Labels that are added after the training, on Banking77: 60 labels with all rows, 17 by examples or by name.

    python -m benchmarks.open_labels --checkpoint FOLDER [--draws 3] [--fine-tune]

A draw chooses the 17 labels and their examples. `--fine-tune` trains the encoder on the rows of the 60 labels first, as
`fit` does by default; without it the encoder stays as it is. Beside it, on the same vectors and rows of all 77 labels:
the table fitted anew, and scikit-learn's logistic regression. All figures are of the test rows.
"""

import argparse
import collections
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import keras_bert
from benchmarks.new_heads import Columns, read
from plugins.open_labels.label_table import LabelTable
from plugins.open_labels.task import open_labels

ADDED, EXAMPLES = 17, (0, 1, 3, 8)
# Texts that measure the ranges of int8 activations.
CALIBRATION = 2000


def main() -> None:
    """Prints each figure of each draw, and their means and deviations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--checkpoint", required=True, help="a folder, such as that of all-MiniLM-L6-v2")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--fine-tune", action="store_true")
    options = parser.parse_args()
    train, test = read(options.data, "banking77")
    figures = collections.defaultdict(list)
    for draw in range(options.draws):
        for name, value in measure(options, train, test, random.Random(draw), draw):
            figures[name].append(value)
            print(f"draw {draw}, {name}: {value:.2f}", flush=True)
    for name, values in figures.items():
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        print(f"{name}: {statistics.fmean(values):.2f} ± {deviation:.2f}", flush=True)


def measure(
    options: argparse.Namespace, train: Columns, test: Columns, chance: random.Random, seed: int
) -> Iterator[tuple[str, float]]:
    """The figures of a draw."""
    names = sorted(set(train.labels))
    added = chance.sample(names, ADDED)
    examples = {
        name: chance.sample([row for row, label in enumerate(train.labels) if label == name], 8) for name in added
    }
    old = train.take([row for row, label in enumerate(train.labels) if label not in examples])
    new = train.take([row for rows in examples.values() for row in rows])
    task = keras_bert.from_hugging_face(options.checkpoint, task="embedding", max_length=64)
    if options.fine_tune:
        kept = sorted(set(old.labels))
        task = keras_bert.from_hugging_face(options.checkpoint, task="classification", labels=kept, max_length=64)
        task.fit(*old[:2], validation_split=0.1, seed=seed, verbose=0)
    task = open_labels(task, *old[:2])
    is_new = np.isin(test.labels, added)
    vectors = task.predict(test.texts)
    scores = task.table.scores(vectors)
    yield "60 labels, rows with them", share(task.table, scores, test.labels, ~is_new)
    yield "area under the curve of none of these", 100 * float(roc_auc_score(~is_new, scores.max(axis=1)))
    for count in EXAMPLES:
        start = time.perf_counter()
        for name in added:
            task.add_label(name, [train.texts[row] for row in examples[name][:count]])
        seconds = time.perf_counter() - start
        yield from shares(f"{count} examples", task.table, task.table.scores(vectors), test.labels, is_new)
        if count != EXAMPLES[-1]:
            for _ in added:
                task.table.undo()
    yield "milliseconds of an addition of 8 examples, the encoder included", 1000 * seconds / ADDED
    # Before the quantization, which rounds the weights in place.
    vectors_of_rows = task.predict(old.texts + new.texts)
    labels = old.labels + new.labels
    again = LabelTable.fit(vectors_of_rows, labels, names=names, name_vectors=task.predict(names))
    yield from shares("the table fitted to the same rows", again, again.scores(vectors), test.labels, is_new)
    regression: Any = LogisticRegression(C=10, max_iter=1000).fit(vectors_of_rows, labels)
    right = regression.predict(vectors) == np.array(test.labels)
    for name, rows in (("", slice(None)), (", old labels", ~is_new), (", new labels", is_new)):
        yield f"logistic regression on the same rows{name}", 100 * float(right[rows].mean())
    with tempfile.TemporaryDirectory() as folder:
        # The model that is exported has the labels, too.
        keras_bert.quantize(task, old.texts[:CALIBRATION], post_training=True)
        task.export(file := str(Path(folder) / "model.tflite"))
        int8: Any = keras_bert.load(file)
        yield from shares(
            "int8 file, 8 examples", int8.table, int8.table.scores(int8.predict(test.texts)), test.labels, is_new
        )


def shares(
    name: str, table: LabelTable, scores: np.ndarray[Any, Any], labels: Sequence[str], is_new: np.ndarray[Any, Any]
) -> Iterator[tuple[str, float]]:
    """The accuracy on all rows, on those of old and on those of new labels."""
    for part, rows in (("", slice(None)), (", old labels", ~is_new), (", new labels", is_new)):
        yield f"{name}{part}", share(table, scores, labels, rows)


def share(table: LabelTable, scores: np.ndarray[Any, Any], labels: Sequence[str], rows: Any) -> float:
    """The percentage of rows whose label has the best score."""
    right = np.array(table.labels)[scores.argmax(axis=1)] == np.array(labels)
    return 100 * float(right[rows].mean())


if __name__ == "__main__":
    main()
