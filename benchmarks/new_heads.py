"""A head that starts from random weights against one that starts at its optimum on frozen vectors, on public rows.

    python -m benchmarks.new_heads --checkpoint FOLDER [--sets banking77-500 pairs-2700] [--seeds 3] [--compress]

With `--compress` a student of three layers is distilled from each teacher, quantized, and scored as an int8 file.
"""

import argparse
import collections
import csv
import random
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

import keras_bert
from keras_bert.metrics.entities import entity_scores
from keras_bert.metrics.regression import correlations

MAX_LENGTH, EPOCHS, RATE, BATCH_SIZE = 64, 3.0, 1e-4, 32
# A pair of STS-B is a paraphrase from this score on.
PARAPHRASE = 3.5
SETS = (
    *("banking77-500", "banking77-1500", "banking77-10003", "sst2-500", "sst2-2000"),
    *("wnut17-1500", "entity_types-1500", "stsb-2700", "pairs-2700"),
)


class Rows(NamedTuple):
    """Columns of `Task.examples`; `seconds`: the second texts, or None."""

    texts: list[Any]
    labels: list[Any]
    seconds: list[str] | None = None

    def take(self, places: Any) -> "Rows":
        """Some of the rows."""
        return Rows(*([column[place] for place in places] if column else None for column in self))


def main() -> None:
    """Prints the score of each model, a line for each set and seed, and the mean and the deviation over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--checkpoint", required=True, help="a folder, such as that of all-MiniLM-L6-v2")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, help="a data set and a number of rows")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--compress", action="store_true")
    options = parser.parse_args()
    for name in options.sets:
        kind, count = name.split("-")
        train, test = read(options.data, kind)
        scores = collections.defaultdict(list)
        for seed in range(options.seeds):
            places = random.Random(seed).sample(range(len(train.texts)), min(int(count), len(train.texts)))
            chosen = train.take(places)
            if kind in ("banking77", "sst2", "entity_types"):
                scores["n-grams"].append(score_words(kind, chosen, test))
            for model, value in measure(options, kind, chosen, test, seed):
                scores[model].append(value)
                print(f"{name}, seed {seed}, {model}: {100 * value:.2f}", flush=True)
        for model, values in scores.items():
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            print(f"{name}, {model}: {100 * statistics.fmean(values):.2f} ± {100 * deviation:.2f}", flush=True)


def measure(options: argparse.Namespace, kind: str, train: Rows, test: Rows, seed: int) -> Iterator[tuple[str, float]]:
    """The scores of the frozen encoder with a fitted head, and of the models of both starts."""
    for start in ("fitted", "random", "auto"):
        task = build(options.checkpoint, kind, train)
        settings: dict[str, Any] = {"batch_size": BATCH_SIZE, "seed": seed, "verbose": 0, "pairs": train.seconds}
        # With a rate of next to nothing the encoder stays as it is.
        frozen = (
            {"steps": 1, "learning_rate": 1e-12} if start == "fitted" else {"epochs": EPOCHS, "learning_rate": RATE}
        )
        task.fit(train.texts, train.labels, start_head=start, **settings, **frozen)
        yield "frozen encoder" if start == "fitted" else f"{start} head, teacher", score(task, test)
        if options.compress and start != "fitted":
            # Tags are given with their words; other tasks need no labels here.
            columns = (train.texts, train.labels) if kind == "wnut17" else (train.texts,)
            student = keras_bert.distill(task, *columns, layers=[1, 3, 5], epochs=2 * EPOCHS, **settings)
            yield f"{start} head, student", score(student, test)
            keras_bert.quantize(student, *columns, epochs=1.0, **settings)
            with tempfile.TemporaryDirectory() as folder:
                student.export(file := str(Path(folder) / "model.tflite"))
                yield f"{start} head, int8 file", score(keras_bert.load(file), test)


def build(checkpoint: str, kind: str, train: Rows) -> Any:
    """A task with a new head."""
    task = {"wnut17": "token_classification", "entity_types": "multi_label", "stsb": "regression"}.get(kind)
    flat = [name for row in train.labels for name in row] if kind in ("wnut17", "entity_types") else train.labels
    labels = {} if kind == "stsb" else {"labels": sorted(set(flat))}
    return keras_bert.from_hugging_face(checkpoint, task=task or "classification", max_length=MAX_LENGTH, **labels)


def score(task: Any, test: Rows) -> float:
    """Accuracy; entity F1, micro F1 of labels at 0.5, or Spearman's correlation."""
    if task.name == "token_classification":
        return entity_scores(test.labels, task.predict_tags(test.texts)).micro.f1
    if task.name == "regression":
        return correlations(task.predict(test.texts, test.seconds), test.labels)["spearman"]
    if task.name == "multi_label":
        answers = np.stack(list(task.outputs(test.texts))) > 0
        truth = [[label in row for label in task.labels] for row in test.labels]
        return float(f1_score(truth, answers, average="micro", zero_division=0))
    answers = [answer.label for answer in task.predict(test.texts, test.seconds)]
    return float(np.mean([answer == label for answer, label in zip(answers, test.labels, strict=True)]))


def score_words(kind: str, train: Rows, test: Rows) -> float:
    """A logistic regression on words and pairs of words."""
    labels = sorted({name for row in train.labels for name in ([row] if isinstance(row, str) else row)})
    several = kind == "entity_types"
    linear: Any = LogisticRegression(C=10, max_iter=1000)
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), OneVsRestClassifier(linear) if several else linear
    )
    truth = [np.array([[label in row for label in labels] for row in rows.labels]) for rows in (train, test)]
    model.fit(train.texts, truth[0] if several else train.labels)
    answers = model.predict(test.texts)
    return float(f1_score(truth[1], answers, average="micro") if several else np.mean(answers == np.array(test.labels)))


def read(data: Path, kind: str) -> tuple[Rows, Rows]:
    """All training rows and the test rows of a data set."""
    if kind in ("wnut17", "entity_types"):
        files = (data / "wnut17" / name for name in ("wnut17train.conll", "emerging.test.annotated"))
        tagged = [read_tags(file) for file in files]
        if kind == "wnut17":
            return tagged[0], tagged[1]
        types = [[sorted({tag[2:] for tag in tags if tag != "O"}) for tags in rows.labels] for rows in tagged]
        texts = [[" ".join(words) for words in rows.texts] for rows in tagged]
        return Rows(texts[0], types[0]), Rows(texts[1], types[1])
    if kind == "banking77":
        tables = [list(csv.DictReader((data / kind / f"{part}.csv").open())) for part in ("train", "test")]
        return tuple(Rows([row["text"] for row in rows], [row["category"] for row in rows]) for rows in tables)
    folder = data / ("sst2" if kind == "sst2" else "stsb")
    tables = [
        list(csv.DictReader((folder / f"{part}.tsv").open(), delimiter="\t", quoting=csv.QUOTE_NONE))
        for part in ("train", "dev")
    ]
    if kind == "sst2":
        return tuple(Rows([row["sentence"] for row in rows], [row["label"] for row in rows]) for rows in tables)
    scored = [[row for row in rows if row["score"]] for rows in tables]
    as_label: Any = float if kind == "stsb" else lambda text: "same" if float(text) >= PARAPHRASE else "other"
    return tuple(
        Rows(
            *([row[name] for row in rows] for name in ("sentence1",)),
            [as_label(row["score"]) for row in rows],
            [row["sentence2"] for row in rows],
        )
        for rows in scored
    )


def read_tags(file: Path) -> Rows:
    """Words and tags of sentences, which blank lines separate."""
    sentences = [
        [line.split("\t") for line in part.splitlines()] for part in file.read_text().split("\n\n") if part.strip()
    ]
    return Rows(
        [[line[0] for line in lines] for lines in sentences], [[line[1] for line in lines] for lines in sentences]
    )


if __name__ == "__main__":
    main()
