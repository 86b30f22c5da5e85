"""Labels that are added after the training, on Banking77: 60 labels with all rows, 17 by examples or by name.

    python -m benchmarks.open_labels --checkpoint FOLDER [--draws 3] [--epochs 1]
    python -m benchmarks.open_labels --checkpoint FOLDER --times

A draw chooses the 17 labels and their examples. `--epochs` trains the encoder on pairs of rows of the 60 labels first;
without it the encoder stays as it is. Then the labels are added to the encoder as it was, too, and their sums are
mapped to the trained one. Labels are added with the bias of trained labels, and without it. Beside it, on
the same vectors and rows of all 77 labels: the table fitted anew, and scikit-learn's logistic regression. All figures
are of the test rows. `--times` measures an update and the scores of 600 labels instead.
"""

import argparse
import collections
import dataclasses
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import keras_bert
from benchmarks.new_heads import Columns, read
from plugins.open_labels.former import add_mapped
from plugins.open_labels.label_table import LabelTable
from plugins.open_labels.task import OpenLabels, open_labels

ADDED, EXAMPLES = 17, (0, 1, 3, 8)
# Texts that measure the ranges of int8 activations.
CALIBRATION = 2000


def main() -> None:
    """Prints each figure of each draw, and their means and deviations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--checkpoint", required=True, help="a folder, such as that of all-MiniLM-L6-v2")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--epochs", type=float, default=0.0)
    parser.add_argument("--times", action="store_true")
    options = parser.parse_args()
    train, test = read(options.data, "banking77")
    if options.times:
        measure_times(options.checkpoint, train)
        return
    figures = collections.defaultdict(list)
    options.all_rows = train
    options.former = embed(options, train, test)
    for draw in range(options.draws):
        for name, value in measure(options, test, random.Random(draw), draw):
            figures[name].append(value)
            print(f"draw {draw}, {name}: {value:.2f}", flush=True)
    for name, values in figures.items():
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        print(f"{name}: {statistics.fmean(values):.2f} ± {deviation:.2f}", flush=True)


class EmbeddedTexts(NamedTuple):
    """The vectors of training texts, test texts and labels' names."""

    train: np.ndarray[Any, Any]
    test: np.ndarray[Any, Any]
    names: np.ndarray[Any, Any]


def embed(
    options: argparse.Namespace, train: Columns, test: Columns, epochs: float = 0.0, seed: int = 0
) -> dict[str, EmbeddedTexts]:
    """The vectors of the encoder, trained on `train` for some epochs, and of its int8 file."""
    task: Any = keras_bert.from_hugging_face(options.checkpoint, task="embedding", max_length=64)
    rows, tested = options.all_rows, test.texts
    if epochs:
        task = OpenLabels.build(task.encoder, task.tokenizer, max_length=64)
        task.fit(*train[:2], epochs=epochs, seed=seed, verbose=0)
    names = [name.replace("_", " ") for name in sorted(set(rows.labels))]
    vectors = {"": EmbeddedTexts(*map(task.predict, (rows.texts, tested, names)))}
    with tempfile.TemporaryDirectory() as folder:
        keras_bert.quantize(task, train.texts[:CALIBRATION], post_training=True)
        task.export(file := str(Path(folder) / "model.tflite"))
        int8: Any = keras_bert.load(file)
        return {**vectors, ", int8 file": EmbeddedTexts(*map(int8.predict, (rows.texts, tested, names)))}


def measure(
    options: argparse.Namespace, test: Columns, chance: random.Random, seed: int
) -> Iterator[tuple[str, float]]:
    """The figures of a draw."""
    train: Columns = options.all_rows
    names = sorted(set(train.labels))
    added = chance.sample(names, ADDED)
    examples = {
        name: chance.sample([row for row, label in enumerate(train.labels) if label == name], 8) for name in added
    }
    old = [row for row, label in enumerate(train.labels) if label not in examples]
    is_new = np.isin(test.labels, added)
    embedded = embed(options, train.take(old), test, options.epochs, seed) if options.epochs else options.former
    for file, vectors in embedded.items():
        table = fit_table(vectors, names, train, old)
        scores = table.scores(vectors.test)
        yield f"60 labels, rows with them{file}", share(table, scores, test.labels, ~is_new)
        yield f"area under the curve of none of these{file}", 100 * float(roc_auc_score(~is_new, scores.max(axis=1)))
        for count in EXAMPLES:
            grown = table.copy()
            for name in added:
                named = None if count else vectors.names[names.index(name)]
                grown.add(name, vectors.train[examples[name][:count]], named)
            for bias, chosen in {"": grown, ", no bias": without_bias(grown)}.items():
                scores = chosen.scores(vectors.test)
                yield from shares(f"{count} examples{bias}{file}", chosen, scores, test.labels, is_new)
        if options.epochs:
            before = options.former[file]
            former = fit_table(before, names, train, old)
            counts = dict.fromkeys(added, EXAMPLES[-1])
            sums = {name: former.space.project(before.train[examples[name]]).sum(axis=0) for name in added}
            worth = add_mapped(table, former, counts, sums, vectors.train[old], before.train[old])
            yield f"what one of these examples counts for{file}", 100 * worth
            for bias, chosen in {"": table, ", no bias": without_bias(table)}.items():
                scores = chosen.scores(vectors.test)
                yield from shares(f"8 examples of the former encoder{bias}{file}", chosen, scores, test.labels, is_new)
    vectors = embedded[""]
    same = [*old, *(row for rows in examples.values() for row in rows)]
    again = fit_table(vectors, names, train, same)
    yield from shares("the table fitted to the same rows", again, again.scores(vectors.test), test.labels, is_new)
    labels = [train.labels[row] for row in same]
    regression: Any = LogisticRegression(C=10, max_iter=1000).fit(vectors.train[same], labels)
    right = regression.predict(vectors.test) == np.array(test.labels)
    for name, rows in (("", slice(None)), (", old labels", ~is_new), (", new labels", is_new)):
        yield f"logistic regression on the same rows{name}", 100 * float(right[rows].mean())


def fit_table(vectors: EmbeddedTexts, names: Sequence[str], train: Columns, rows: Sequence[int]) -> LabelTable:
    """The table of the labels of some training rows."""
    labels = [train.labels[row] for row in rows]
    kept = sorted(set(labels))
    sides = vectors.names[[names.index(name) for name in kept]]
    return LabelTable.fit(vectors.train[list(rows)], labels, names=kept, name_vectors=sides)


def without_bias(table: LabelTable) -> LabelTable:
    """The same labels in a table that does not prefer trained ones."""
    return LabelTable(dataclasses.replace(table.space, added_bias=0.0), {name: table[name] for name in table.labels})


def measure_times(checkpoint: str, train: Columns) -> None:
    """Prints the times of an update of 77 labels, of scores of 77 and 600 labels, and of a forward pass of the file."""
    base = keras_bert.from_hugging_face(checkpoint, task="embedding", max_length=64)
    # A fifth of the rows: times do not depend on the number of rows.
    train = train.take(range(0, len(train.texts), 5))
    task = open_labels(base, *train[:2])
    few, texts = task.table.copy(), train.texts[:50]
    vectors = task.predict(texts)
    many = few.copy()
    for number in range(600 - len(few.labels)):
        many.add(f"label {number}", vectors[number % 40 : number % 40 + 3])

    def update() -> None:
        few.add_examples(few.labels[0], vectors[:1])
        few.answer(vectors[:1])

    with tempfile.TemporaryDirectory() as folder:
        keras_bert.quantize(task, train.texts[:CALIBRATION], post_training=True)
        task.export(file := str(Path(folder) / "model.tflite"))
        int8: Any = keras_bert.load(file)
        times = {
            "an added example of 77 labels and an answer": median(update),
            "scores of 77 labels": median(lambda: few.answer(vectors[:1])),
            "scores of 600 labels": median(lambda: many.answer(vectors[:1])),
            "a forward pass of the int8 file": median(lambda: int8.predict(texts[:1])),
        }
    for name, seconds in times.items():
        print(f"{name}: {1000 * seconds:.3f} ms", flush=True)


def median(run: Callable[[], object]) -> float:
    """The median of the seconds of 200 runs."""
    seconds = []
    for _ in range(200):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


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
