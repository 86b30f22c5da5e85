"""README's lines in a notebook against a job that `init` writes, on the same rows: classes of Banking77.

    python -m benchmarks.readme_lines --checkpoint FOLDER [--classes 24] [--rows 960] [--seeds 1]

Both hold out a tenth of the training rows for validation, and are scored on the test rows of their classes.
"""

import argparse
import csv
import json
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import keras_bert
from keras_bert.tasks.base import Task

Row = tuple[str, str]


def main() -> None:
    """Prints the accuracy of teacher, student and int8 file of both ways, and of the baselines of the job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data/banking77"))
    parser.add_argument("--checkpoint", type=Path, required=True, help="a folder, such as that of all-MiniLM-L6-v2")
    parser.add_argument("--classes", type=int, default=24)
    parser.add_argument("--rows", type=int, default=960)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    train, test = (read(options.data / f"{split}.csv") for split in ("train", "test"))
    for seed in range(options.seeds):
        chance = random.Random(seed)
        chosen = set(chance.sample(sorted({label for _, label in train}), options.classes))
        rows = chance.sample([row for row in train if row[1] in chosen], options.rows)
        held_out = [row for row in test if row[1] in chosen]
        for way, measure in (("README", measure_lines), ("job", measure_job)):
            for model, accuracy in measure(options.checkpoint, rows, held_out).items():
                print(f"seed {seed}, {way}, {model}: {100 * accuracy:.2f}", flush=True)


def read(file: Path) -> list[Row]:
    """The texts and labels of a file of Banking77."""
    with file.open() as stream:
        return [(row["text"], row["category"]) for row in csv.DictReader(stream)]


def measure_lines(checkpoint: Path, rows: Sequence[Row], test: Sequence[Row]) -> dict[str, float]:
    """The accuracies of the models that the lines of README make."""
    texts, labels = map(list, zip(*rows, strict=True))
    task = keras_bert.from_hugging_face(checkpoint, task="classification", labels=sorted(set(labels)))
    task.fit(texts, labels, validation_split=0.1)
    small = keras_bert.distill(task, texts, layers=[1, 3, 5])
    scores = {"teacher": score(task, test), "student": score(small, test)}
    keras_bert.quantize(small, texts)
    with tempfile.TemporaryDirectory() as folder:
        small.export(file := str(Path(folder) / "small.tflite"))
        return {**scores, "tflite int8": score(keras_bert.load(file), test)}


def score(task: Task, test: Sequence[Row]) -> float:
    """The accuracy on rows."""
    texts, labels = zip(*test, strict=True)
    answers = task.predict(list(texts))
    return statistics.fmean(answer.label == label for answer, label in zip(answers, labels, strict=True))


def measure_job(checkpoint: Path, rows: Sequence[Row], test: Sequence[Row]) -> dict[str, float]:
    """The accuracies in the table of a run of the job that `init` writes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for split, part in (("train", rows), ("test", test)):
            with (folder / f"{split}.csv").open("w", newline="") as stream:
                csv.writer(stream).writerows([("text", "label"), *part])
        drafted = ("init", folder / "train.csv", "--test", folder / "test.csv", "--checkpoint", checkpoint.resolve())
        run_command(*drafted, "--out", folder / "job.toml")
        run_command("run", folder / "job.toml", "--root", folder / "runs")
        (file,) = (folder / "runs" / "artifacts" / "evaluate").glob("evaluation-*/metrics.json")
        models = json.loads(file.read_text())["models"]
        return {model: row["metrics"]["accuracy"]["mean"] for model, row in models.items()}


def run_command(*arguments: object) -> None:
    """Runs a command of the program; one that refuses its models has made them, too."""
    command = [sys.executable, "-m", "pipeline", *map(str, arguments)]
    status = subprocess.run(command, stdout=subprocess.DEVNULL).returncode
    if status not in (0, 3):
        raise SystemExit(f"{command} must end with 0 or 3, got {status}")


if __name__ == "__main__":
    main()
