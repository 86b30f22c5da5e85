"""What a student gains from the mean of three teachers, and how it grows with texts without labels.

    python -m benchmarks.teachers sst2 --checkpoint FOLDER [--growth 500 8000] [--larger FOLDER] [--root FOLDER]
    python -m benchmarks.teachers banking77 --checkpoint FOLDER

A draw takes other labelled rows of the training file, and other texts of the rest without their labels. Three teachers
are fine-tuned on the labelled rows of a draw, each with a seed of its own; a larger one on the first `--larger-rows`.
Students have three layers of the checkpoint, learn the answers to the texts and no label, and take 250 steps whatever
the number of texts. `--growth` measures students of the first draw. Test rows are GLUE's dev file of SST-2, or 1,500
rows of the test file of Banking77. Settings were fixed before any figure was seen.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.table import print_table, spread
from components.sources.table import TableSource
from keras_bert.core.digests import digest


class DataSet(NamedTuple):
    """Files and columns of a data set, and how its teachers are trained."""

    train: str
    test: str
    text: str
    label: str
    rows: int
    epochs: float
    learning_rate: float


DATA_SETS = {
    "sst2": DataSet("train.tsv", "dev.tsv", "sentence", "label", 2000, 2.0, 1e-4),
    "banking77": DataSet("train.csv", "test.csv", "text", "category", 1540, 3.0, 3e-4),
}
SEEDS, STUDENT_STEPS, MAX_LENGTH, LAYERS, MOST_TESTS = 3, 250, 32, (1, 3, 5), 1500
TRAINING: dict[str, Any] = {"verbose": 0, "batch_size": 32, "precision": "auto", "xla": "off"}


class Draw(NamedTuple):
    """Labelled rows, texts without labels, and test rows."""

    labels: list[str]
    rows: list[Any]
    texts: list[str]
    tests: list[Any]


def main() -> None:
    """Trains what is not stored under the root, and prints two tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name", choices=DATA_SETS)
    parser.add_argument("--checkpoint", required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--texts", type=int, default=2000, help="of each draw")
    parser.add_argument("--growth", type=int, nargs="+", default=[], help="other numbers of texts of the first draw")
    parser.add_argument("--seeds", type=int, default=2, help="students of each number of texts")
    parser.add_argument("--larger", help="a larger checkpoint, whose teacher takes the place of the three")
    parser.add_argument("--larger-rows", type=int, default=600)
    parser.add_argument("--root", type=Path, help="where answers live, to go on later; else a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        options.root = options.root or Path(temporary)
        if not options.larger:
            measure_gain(options)
        if options.growth:
            measure_growth(options)


def measure_gain(options: argparse.Namespace) -> None:
    """Teachers, their mean, and the students of one and of the mean, in each draw."""
    rights: dict[str, list[Any]] = {}
    for number in range(options.draws):
        draw = read_draw(options, number)
        teachers = teach_seeds(options, draw, number)
        mean = average(teachers)
        models = {f"teacher {seed}": teacher[1] for seed, teacher in enumerate(teachers)} | {"their mean": mean[1]}
        for kind, teacher in (("one", teachers[0]), ("mean", mean)):
            answers = teacher[0][: options.texts]
            models[f"student of {kind}"] = learn(options, draw, kind, answers, number, seed=number)
        for model, answers in models.items():
            rights.setdefault(model, []).append(100.0 * is_right(answers, draw))
    # Test rows are those of each draw, so that two models are compared row by row.
    rights["gain"] = list(np.subtract(rights["student of mean"], rights["student of one"]))
    table = []
    for model, values in rights.items():
        scores, rows = [float(value.mean()) for value in values], np.mean(values, axis=0)
        by_draw = {f"draw {number}": f"{score:.2f}" for number, score in enumerate(scores)}
        error = rows.std(ddof=1) / len(rows) ** 0.5
        table.append({"model": model, **by_draw, "mean": spread(scores), "error of test rows": f"{error:.2f}"})
    print_table(table)
    print()


def measure_growth(options: argparse.Namespace) -> None:
    """Accuracy, and agreement with the teacher, by the number of texts; the teacher is larger, or the mean."""
    draw = read_draw(options, 0)
    if options.larger:
        teacher = teach(options, draw, "larger", 0, options.larger, options.larger_rows)
    else:
        teacher = average(teach_seeds(options, draw, 0))
    rows = [{"texts": "teacher", "accuracy": f"{accuracy(teacher[1], draw):.2f}"}]
    for count in sorted({options.texts, *options.growth}):
        kind, answers = "larger" if options.larger else "mean", teacher[0][:count]
        students = [learn(options, draw, kind, answers, 0, seed) for seed in range(options.seeds)]
        agreements = [100 * float(np.mean(tests.argmax(1) == teacher[1].argmax(1))) for tests in students]
        scores = [accuracy(tests, draw) for tests in students]
        rows.append({"texts": f"{count:,}", "accuracy": spread(scores), "agreement": spread(agreements)})
    print_table(rows)


def read_draw(options: argparse.Namespace, number: int) -> Draw:
    """Labelled rows and texts of the training file, and all test rows; equal texts count once."""
    data = DATA_SETS[options.name]

    def read(file: str) -> dict[str, Any]:
        table = TableSource(options.name, text=data.text, label=data.label)
        rows = table.read(str(options.data / options.name / file))
        return {" ".join(row.text.casefold().split()): row for row in rows}

    by_text = read(data.test)
    rows, tests = [row for text, row in read(data.train).items() if text not in by_text], list(by_text.values())
    tests = tests if len(tests) <= MOST_TESTS else random.Random(0).sample(tests, MOST_TESTS)
    random.Random(number).shuffle(rows)
    count = options.texts if number else max([options.texts, *options.growth])
    texts = [row.text for row in rows[data.rows :]][:count]
    return Draw(sorted({row.label for row in rows}), rows[: data.rows], texts, tests)


def build(checkpoint: str, draw: Draw, seed: int) -> Any:
    """A new classifier with only the tokens of the draw's texts, which changes no answer."""
    import keras

    import keras_bert
    from keras_bert.compress.vocabulary import reduce_vocabulary

    keras.utils.set_random_seed(seed)
    task = keras_bert.from_hugging_face(checkpoint, task="classification", labels=draw.labels, max_length=MAX_LENGTH)
    texts = [*draw.texts, *(row.text for row in (*draw.rows, *draw.tests))]
    ids = np.unique(task.encode(texts)["token_ids"])
    return reduce_vocabulary(task, sorted({*ids.tolist(), *task.tokenizer.special_ids}))


def teach(
    options: argparse.Namespace,
    draw: Draw,
    name: str,
    seed: int,
    checkpoint: str | None = None,
    rows: int | None = None,
) -> tuple[Any, Any]:
    """A teacher's probabilities of the texts, and of the test rows."""
    data = DATA_SETS[options.name]

    def answer() -> dict[str, Any]:
        task, part = build(checkpoint or options.checkpoint, draw, seed), draw.rows[:rows]
        training = {**TRAINING, "epochs": data.epochs, "learning_rate": data.learning_rate, "seed": seed}
        begin = time.monotonic(), time.process_time()
        history = task.fit([row.text for row in part], [row.label for row in part], **training)
        report(f"{options.name}, teacher {name}: {history[-1]['step']} steps", begin)
        begin = time.monotonic(), time.process_time()
        every = probabilities(task, [*draw.texts, *(row.text for row in draw.tests)])
        tests = every[len(draw.texts) :]
        report(f"{options.name}, teacher {name}: {len(every)} answers, accuracy {accuracy(tests, draw):.2f}", begin)
        return {"texts": every[: len(draw.texts)], "tests": tests}

    inputs = digest([repr((checkpoint or options.checkpoint, rows, draw)).encode()])
    shares = stored(options.root / f"{options.name}-teacher-{name}-{inputs}.npz", answer)
    return shares["texts"], shares["tests"]


def teach_seeds(options: argparse.Namespace, draw: Draw, number: int) -> list[tuple[Any, Any]]:
    """The answers of the three teachers of a draw."""
    return [teach(options, draw, f"{number}-{seed}", 10 * number + seed) for seed in range(SEEDS)]


def average(teachers: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    """The mean of the teachers' probabilities, of the texts and of the test rows."""
    texts, tests = (np.mean(answers, axis=0) for answers in zip(*teachers, strict=True))
    return texts, tests


def learn(options: argparse.Namespace, draw: Draw, kind: str, answers: Any, number: int, seed: int) -> Any:
    """A student's probabilities of the test rows."""
    name = f"{options.name}-student-{kind}-{number}-{seed}-{len(answers)}"

    def answer() -> dict[str, Any]:
        import keras_bert

        task, begin = build(options.checkpoint, draw, seed), (time.monotonic(), time.process_time())
        rate = DATA_SETS[options.name].learning_rate
        training = {**TRAINING, "steps": STUDENT_STEPS, "learning_rate": rate, "seed": seed}
        small = keras_bert.distill(task, draw.texts[: len(answers)], probabilities=answers, layers=LAYERS, **training)
        tests = probabilities(small, [row.text for row in draw.tests])
        report(f"{name}: {STUDENT_STEPS} steps, accuracy {accuracy(tests, draw):.2f}", begin)
        return {"tests": tests}

    inputs = digest([repr((options.checkpoint, draw)).encode(), answers.tobytes()])
    return stored(options.root / f"{name}-{inputs}.npz", answer)["tests"]


def stored(file: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The arrays of a file, which is written first if it is missing; its name holds a digest of what they depend on."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, **make())
    with np.load(file) as arrays:
        return dict(arrays)


def probabilities(task: Any, texts: list[str]) -> Any:
    """Probabilities of the labels (texts, labels), computed in the precision of the training."""
    from keras_bert.options.training import Training
    from keras_bert.training.precision import computing_in

    with computing_in(task.model, Training(precision="auto").precision):
        logits = np.stack(list(task.outputs(texts))).astype("float64")
    shares = np.exp(logits - logits.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def is_right(answers: Any, draw: Draw) -> Any:
    """Whether the likeliest label is that of each test row (tests,)."""
    return answers.argmax(1) == [draw.labels.index(row.label) for row in draw.tests]


def accuracy(answers: Any, draw: Draw) -> float:
    """Per cent of the test rows."""
    return 100 * float(np.mean(is_right(answers, draw)))


def report(what: str, begin: tuple[float, float]) -> None:
    """Says how long something took."""
    wall, processor = time.monotonic() - begin[0], time.process_time() - begin[1]
    print(f"{what}: {wall:.0f} s, {processor:.0f} s of a core", flush=True)


if __name__ == "__main__":
    main()
