"""A checkpoint that learns a task: before heads were fitted, and with the defaults of today, on public rows.

    python -m benchmarks.new_heads --checkpoint FOLDER [--sets banking77-500 pairs-2700] [--seeds 3]
    python -m benchmarks.new_heads --checkpoint FOLDER --validate --ways after --sets sst2-1000 --epochs 2 --rate 2e-4

`before` is a random head and three epochs at 1e-4, the last weights; its student learns for six. `after` is `fit`
without settings but `validation_split = 0.1`, as README has it, then `distill` and `quantize` without any. Students
have three layers. N-grams and the frozen encoder learn from the nine tenths of the rows that `fit` learns from; with
`--ways` and no name, nothing else is scored. With `--validate` training rows that no model learns from are scored
instead of test rows: settings are chosen by them. `--peers-python` is an interpreter with torch, transformers and
setfit: both learn from all rows of the classes of Banking77 and SST-2, transformers for as many epochs as `fit`.
"""

import argparse
import collections
import csv
import json
import random
import re
import statistics
import subprocess
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
from components.sources.questions import read_squad
from keras_bert.core.processor import usable_processors
from keras_bert.metrics.entities import entity_scores
from keras_bert.metrics.regression import correlations
from keras_bert.metrics.squad import score_v1
from keras_bert.options.training import suggest_epochs

MAX_LENGTH, BATCH_SIZE = 64, 32
# A pair of STS-B is a paraphrase from this score on.
PARAPHRASE = 3.5
TASKS = {
    "banking77": "classification",
    "sst2": "classification",
    "wnut17": "token_classification",
    "entity_types": "multi_label",
    "stsb": "regression",
    "pairs": "classification",
    "squad": "question_answering",
}
SETS = (
    *("banking77-500", "banking77-1500", "banking77-10003", "sst2-500", "sst2-2000"),
    *("wnut17-3394", "entity_types-3394", "stsb-2700", "pairs-2700", "squad-2000"),
)
# Of the rows that choose the weights.
SHARE = 0.1
BEFORE = {"start_head": "random", "epochs": 3.0, "learning_rate": 1e-4}
BEFORE_STUDENT = {"epochs": 6.0, "learning_rate": 1e-4}


class Columns(NamedTuple):
    """Columns of `Task.examples`; `seconds`: the second texts, or None."""

    texts: list[Any]
    labels: list[Any]
    seconds: list[str] | None = None

    def take(self, places: Any) -> "Columns":
        """Some of the rows."""
        columns: list[Any] = [column and [column[place] for place in places] for column in self]
        return Columns(*columns)


def main() -> None:
    """Prints the score of each model, a line for each set and seed, and the mean and the deviation over the seeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--checkpoint", required=True, help="a folder, such as that of all-MiniLM-L6-v2")
    parser.add_argument("--sets", nargs="+", default=SETS, help=f"a data set of {tuple(TASKS)} and a number of rows")
    parser.add_argument("--ways", nargs="*", choices=("before", "after"), default=("before", "after"))
    parser.add_argument("--epochs", type=float, help="of the teacher of `after`")
    parser.add_argument("--rate", type=float, help="of the teacher of `after`")
    parser.add_argument("--scored-rows", type=int, default=1000, help="the most rows that are scored")
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--peers-python", help="an interpreter with torch, transformers and setfit")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--teachers", action="store_true", help="no students")
    options = parser.parse_args()
    for name in options.sets:
        if not re.fullmatch(rf"({'|'.join(TASKS)})-\d+", name):
            parser.error(
                f"--sets must be one of {', '.join(TASKS)} with a number of rows, such as sst2-500, got {name!r}"
            )
        kind, count = name.split("-")
        train, test = read(options.data, kind)
        shuffled = random.Random(0).sample(range(len(test.texts)), len(test.texts))
        test = test.take(shuffled[: options.scored_rows])
        scores = collections.defaultdict(list)
        for seed in range(options.seeds):
            places = random.Random(seed).sample(range(len(train.texts)), len(train.texts))
            chosen, rest = train.take(places[: int(count)]), places[int(count) :][: options.scored_rows]
            test = train.take(rest) if options.validate else test
            for model, value in measure(options, kind, chosen, test, seed):
                scores[model].append(value)
                print(f"{name}, seed {seed}, {model}: {100 * value:.2f}", flush=True)
        for model, values in scores.items():
            deviation = statistics.stdev(values) if len(values) > 1 else 0.0
            print(f"{name}, {model}: {100 * statistics.fmean(values):.2f} ± {100 * deviation:.2f}", flush=True)


def measure(
    options: argparse.Namespace, kind: str, train: Columns, test: Columns, seed: int
) -> Iterator[tuple[str, float]]:
    """The scores of the baselines, and of the models of both ways."""
    settings: dict[str, Any] = {"batch_size": BATCH_SIZE, "seed": seed, "verbose": 0}
    if train.seconds is not None and kind != "squad":
        settings["pairs"] = train.seconds
    # Questions have their contexts as a column of their own.
    columns: tuple[Any, ...] = train[:2]
    if kind == "squad":
        columns = (train.texts, train.seconds, [answers[0] for answers in train.labels])
    if kind in ("banking77", "sst2", "entity_types"):
        yield "n-grams", score_words(kind, train.take(range(len(train.texts) - round(SHARE * len(train.texts)))), test)
    if options.peers_python and kind in ("banking77", "sst2"):
        yield from score_peers(options, train, test, seed)
    if kind != "squad":
        task = build(options.checkpoint, kind, train)
        # With a rate of next to nothing the encoder stays as it is.
        frozen = {"start_head": "fitted", "steps": 1, "learning_rate": 1e-12}
        task.fit(*columns, validation_split=SHARE, **frozen, **settings)
        yield "frozen encoder", score(task, test)
    given = {"epochs": options.epochs, "learning_rate": options.rate}
    after = {"validation_split": SHARE, **{name: value for name, value in given.items() if value is not None}}
    for way in options.ways:
        plan, of_student = (BEFORE, BEFORE_STUDENT) if way == "before" else (after, {})
        task = build(options.checkpoint, kind, train)
        task.fit(*columns, **plan, **settings)
        yield f"{way}, teacher", score(task, test)
        if options.teachers:
            continue
        # Tags are given with their words, and answers with their contexts; other tasks need no labels here.
        learnt = columns if kind in ("wnut17", "squad") else columns[:1]
        student = keras_bert.distill(task, *learnt, layers=[1, 3, 5], **of_student, **settings)
        yield f"{way}, student", score(student, test)
        keras_bert.quantize(student, *learnt, **settings)
        with tempfile.TemporaryDirectory() as folder:
            student.export(file := str(Path(folder) / "model.tflite"))
            yield f"{way}, int8 file", score(keras_bert.load(file), test)


def build(checkpoint: str, kind: str, train: Columns) -> Any:
    """A task with a new head."""
    if kind == "squad":
        return keras_bert.from_hugging_face(checkpoint, task=TASKS[kind], max_length=384, null_threshold=None)
    flat = [name for row in train.labels for name in row] if kind in ("wnut17", "entity_types") else train.labels
    labels = {} if kind == "stsb" else {"labels": sorted(set(flat))}
    return keras_bert.from_hugging_face(checkpoint, task=TASKS[kind], max_length=MAX_LENGTH, **labels)


def score(task: Any, test: Columns) -> float:
    """Accuracy; entity F1, micro F1 of labels at 0.5, Spearman's correlation, or F1 of answers."""
    if task.name == "question_answering":
        predicted = {str(row): answer.text for row, answer in enumerate(task.predict(test.texts, test.seconds))}
        golds_of_rows = {str(row): [text for text, _ in golds] for row, golds in enumerate(test.labels)}
        return float(score_v1(predicted, golds_of_rows)["f1"]) / 100
    if task.name == "token_classification":
        return entity_scores(test.labels, task.predict_tags(test.texts)).micro.f1
    if task.name == "regression":
        return correlations(task.predict(test.texts, test.seconds), test.labels)["spearman"]
    if task.name == "multi_label":
        flags = np.stack(list(task.outputs(test.texts))) > 0
        truth = [[label in row for label in task.labels] for row in test.labels]
        return float(f1_score(truth, flags, average="micro", zero_division=0))
    answers = [answer.label for answer in task.predict(test.texts, test.seconds)]
    return float(np.mean([answer == label for answer, label in zip(answers, test.labels, strict=True)]))


def score_words(kind: str, train: Columns, test: Columns) -> float:
    """A logistic regression on words and pairs of words."""
    labels = sorted({name for row in train.labels for name in ([row] if isinstance(row, str) else row)})
    several = kind == "entity_types"
    linear: Any = LogisticRegression(C=10, max_iter=1000)
    model = make_pipeline(
        TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), OneVsRestClassifier(linear) if several else linear
    )
    truth = [np.array([[label in row for label in labels] for row in rows.labels]) for rows in (train, test)]
    model.fit(train.texts, truth[0] if several else train.labels)
    answers: Any = model.predict(test.texts)
    return float(f1_score(truth[1], answers, average="micro") if several else np.mean(answers == np.array(test.labels)))


def score_peers(options: argparse.Namespace, train: Columns, test: Columns, seed: int) -> Iterator[tuple[str, float]]:
    """The accuracy of transformers' fine-tuning at two rates, and of SetFit."""
    epochs = str(suggest_epochs(len(train.texts)))
    peers = {
        f"transformers at {rate}": ("hugging_face_loop", "--epochs", epochs, "--learning-rate", rate)
        for rate in ("5e-5", "1e-4")
    }
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("train.csv", "test.csv")]
        for file, rows in zip(files, (train, test), strict=True):
            with file.open("w", newline="") as stream:
                csv.writer(stream).writerows([("sentence", "label"), *zip(*rows[:2], strict=True)])
        settings = {"seeds": seed, "batch-size": BATCH_SIZE, "max-length": MAX_LENGTH, "threads": usable_processors()}
        flags = [part for name, value in settings.items() for part in (f"--{name}", str(value))]
        for name, (module, *arguments) in {**peers, "SetFit": ("set_fit",)}.items():
            command = [options.peers_python, "-m", f"benchmarks.peers.{module}", options.checkpoint]
            command += [*map(str, files), *arguments, *flags]
            answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            yield name, json.loads(answer.splitlines()[-1])["score"]


def read(data: Path, kind: str) -> tuple[Columns, Columns]:
    """All training rows and the test rows of a data set."""
    test = {"banking77": "test", "wnut17": "test", "entity_types": "test"}.get(kind, "dev")
    return read_part(data, kind, "train"), read_part(data, kind, test)


def read_part(data: Path, kind: str, part: str) -> Columns:
    """The rows of a file."""
    if kind == "squad":
        file = data / kind / {"train": "train-v1.1-part.json", "dev": "dev-v1.1.json"}[part]
        questions = list(read_squad(str(file)))
        contexts = [row.context for row in questions]
        return Columns([row.question for row in questions], [row.answers for row in questions], contexts)
    if kind in ("wnut17", "entity_types"):
        file = data / "wnut17" / {"train": "wnut17train.conll", "test": "emerging.test.annotated"}[part]
        parts = [text.splitlines() for text in re.split(r"\n\s*\n", file.read_text().strip())]
        words, tags = ([[line.split("\t")[place] for line in lines] for lines in parts] for place in (0, 1))
        if kind == "wnut17":
            return Columns(words, tags)
        return Columns(
            [" ".join(row) for row in words], [sorted({tag[2:] for tag in row if tag != "O"}) for row in tags]
        )
    if kind == "banking77":
        table = csv.DictReader((data / kind / f"{part}.csv").open())
        return Columns(*map(list, zip(*((row["text"], row["category"]) for row in table), strict=True)))
    file = data / ("sst2" if kind == "sst2" else "stsb") / f"{part}.tsv"
    table = csv.DictReader(file.open(), delimiter="\t", quoting=csv.QUOTE_NONE)
    if kind == "sst2":
        return Columns(*map(list, zip(*((row["sentence"], row["label"]) for row in table), strict=True)))
    rows = [row for row in table if row["score"]]
    scores: list[Any] = [float(row["score"]) for row in rows]
    if kind == "pairs":
        scores = ["same" if score >= PARAPHRASE else "other" for score in scores]
    return Columns([row["sentence1"] for row in rows], scores, [row["sentence2"] for row in rows])


if __name__ == "__main__":
    main()
