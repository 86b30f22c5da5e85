"""Few rows of each label: pairs of rows and a logistic head (`[few_shot]`) beside other ways to fine-tune.

    python -m benchmarks.few_rows --data FOLDER [--sets sst2 banking77] [--rows 8 16] [--draws 10] [--held-out]

`--data` holds the folders sst2 (GLUE) and banking77; the checkpoint is all-MiniLM-L6-v2. Each draw takes `--rows`
training rows of each label by chance. All ways learn from the same rows by the steps of a job, without validation rows:
the last weights are kept. Figures are of all test rows (of SST-2 the dev file), mean and sample standard deviation of
the draws; a line of JSON on stderr follows each training.

The settings were fixed before any figure of test rows was seen: inputs of 64 tokens and batches of 16. Pairs: as many
for each row as make at most 5,000, and at most 20 of each kind; one epoch, whose rate was chosen by `--held-out` among
2e-5, 1e-4 and 3e-4 on SST-2. The other trainings: 10 epochs, at least 100 steps, at 1e-4 for all weights and at 2e-3
for LoRA of rank 8 (those of `benchmarks.adaptation`). `--held-out` scores training rows that are in no draw in place of
test rows, to choose settings by.
"""

import argparse
import csv
import json
import random
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.task_accuracy import spread
from components.artifacts.data import TaskExamples, Vocabulary
from components.artifacts.models import Model
from components.examples.registry import read_rows
from components.files.csv_files import csv_line
from components.fine_tune import fine_tune
from components.fit_head import fit_head
from components.import_checkpoint import import_checkpoint
from components.ingest_examples import ingest_examples
from components.pair_examples import pair_examples
from components.scoring.registry import TASK_SCORING
from components.sources.table import TableSource
from components.training.model_folder import read_model
from keras_bert.options.adaptation import Adaptation, Lora
from keras_bert.options.fine_tuning import Selection
from keras_bert.options.training import Training
from keras_bert.tasks.classification import Classification
from pipeline.job.files import load_settings

# Name -> training rows, test rows, columns of text and label.
SETS = {
    "sst2": ("sst2/train.tsv", "sst2/dev.tsv", "sentence", "label"),
    "banking77": ("banking77/train.csv", "banking77/test.csv", "text", "category"),
}
LAST = Selection(keep="last", validations=1)
LENGTH, BATCH, HELD_OUT_ROWS = 64, 16, 1000
# XLA would compile for longer than these trainings take.
ALIKE: dict[str, Any] = {"batch_size": BATCH, "precision": "auto", "xla": "off"}
MOST_PAIRS, MOST_OF_A_ROW = 5000, 20
EPOCHS, FEWEST_STEPS = 10, 100

Row = tuple[str, str]


class Draw(NamedTuple):
    """The rows of a draw as artifacts, and the folder of what is made of them."""

    pretrained: Model
    vocabulary: Vocabulary
    examples: TaskExamples
    rows: int
    seed: int
    rate: float
    folder: Path

    def train(self, examples: TaskExamples, training: Training, adaptation: Adaptation | None = None) -> Model:
        """A model that is fine-tuned on examples."""
        model = Model(self.folder / "tuned")
        rows = {"pretrained": self.pretrained, "examples": examples}
        fine_tune.run(**rows, model=model, training=training, selection=LAST, adaptation=adaptation)
        return model

    def fit(self, encoder: Model) -> Model:
        """The encoder with a logistic head."""
        model = Model(self.folder / "headed")
        fit_head.run(encoder=encoder, examples=self.examples, model=model)
        return model


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--rows", type=int, nargs="+", default=[8, 16])
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--rate", type=float, default=1e-4, help="of the training on pairs")
    parser.add_argument("--held-out", action="store_true")
    options = parser.parse_args()
    lines = []
    for name in options.sets:
        for rows in options.rows:
            accuracies = measure_set(options, name, rows)
            lines.append(f"| {name}, {rows} rows a label | {' | '.join(map(spread, accuracies.values()))} |")
    print(f"| accuracy, {options.draws} draws | {' | '.join(options.ways)} |")
    print(f"|---|{'---:|' * len(options.ways)}", *lines, sep="\n")


def measure_set(options: argparse.Namespace, name: str, rows: int) -> dict[str, list[float]]:
    """Way -> the accuracy of each draw, in points."""
    accuracies: dict[str, list[float]] = {way: [] for way in options.ways}
    for seed in range(options.draws):
        for way in options.ways:
            with tempfile.TemporaryDirectory() as temporary:
                draw = prepare(options, name, rows, seed, Path(temporary))
                start = time.perf_counter()
                model = WAYS[way](draw)
                seconds = time.perf_counter() - start
                accuracies[way].append(100 * score(model, draw.examples))
            record = {"set": name, "rows": rows, "draw": seed, "way": way, "accuracy": accuracies[way][-1]}
            print(json.dumps({**record, "seconds": round(seconds, 1)}), file=sys.stderr, flush=True)
    return accuracies


def prepare(options: argparse.Namespace, name: str, rows: int, seed: int, folder: Path) -> Draw:
    """Draws rows and tokenizes them."""
    train, test, text, label = SETS[name]
    drawn, others = draw_rows(read_table(options.data / train, text, label), rows, seed)
    held_out = others[:HELD_OUT_ROWS] if options.held_out else read_table(options.data / test, text, label)
    splits = {split: str(folder / f"{split}.csv") for split in ("train", "test")}
    for split, table in (("train", drawn), ("test", held_out)):
        Path(splits[split]).write_text("".join(map(csv_line, [("text", "label"), *table])), encoding="utf-8")
    source = TableSource(splits["train"], validation=splits["train"], test=splits["test"], near_overlap="off")
    model, vocabulary, examples = Model(folder / "m"), Vocabulary(folder / "v"), TaskExamples(folder / "e")
    vocabulary.path.mkdir()
    checkpoint = load_settings(None).checkpoint
    import_checkpoint.run(source=checkpoint, model=model, vocabulary=vocabulary)
    ingest_examples.run(vocabulary=vocabulary, examples=examples, source=source, max_length=LENGTH)
    return Draw(model, vocabulary, examples, len(drawn), seed, options.rate, folder)


def read_table(file: Path, text: str, label: str) -> list[Row]:
    """The rows of a table; of SST-2, quotes are characters."""
    tabs = file.suffix == ".tsv"
    with file.open(encoding="utf-8", newline="") as stream:
        reader = csv.DictReader(
            stream, delimiter="\t" if tabs else ",", quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL
        )
        return [(" ".join(row[text].split()), row[label]) for row in reader]


def draw_rows(table: Sequence[Row], rows: int, seed: int) -> tuple[list[Row], list[Row]]:
    """So many rows of each label, and all others."""
    shuffled = list(dict.fromkeys(table))
    random.Random(seed).shuffle(shuffled)
    by_label: dict[str, list[Row]] = defaultdict(list)
    for row in shuffled:
        by_label[row[1]].append(row)
    drawn = [row for label in sorted(by_label) for row in by_label[label][:rows]]
    chosen = set(drawn)
    return drawn, [row for row in shuffled if row not in chosen]


def score(model: Model, examples: TaskExamples) -> float:
    """The accuracy on test rows."""
    task, scoring, rows = read_model(model), TASK_SCORING["classification"], read_rows(examples, "test")
    assert isinstance(task, Classification)
    return scoring.score(rows, scoring.answer(task, rows), task.labels).metrics["accuracy"]


def train_all_weights(draw: Draw) -> Model:
    """All weights learn together with a new head."""
    return draw.train(draw.examples, plan(draw, 1e-4))


def train_lora(draw: Draw) -> Model:
    """LoRA and a new head."""
    return draw.train(draw.examples, plan(draw, 2e-3), Lora(rank=8))


def fit_head_alone(draw: Draw) -> Model:
    """A logistic head on the checkpoint's vectors."""
    return draw.fit(draw.pretrained)


def train_on_pairs(draw: Draw) -> Model:
    """What `[few_shot]` does."""
    paired = TaskExamples(draw.folder / "p")
    pairs = max(1, min(MOST_OF_A_ROW, MOST_PAIRS // (2 * draw.rows)))
    pair_examples.run(vocabulary=draw.vocabulary, examples=draw.examples, paired=paired, pairs=pairs, seed=draw.seed)
    training = Training(epochs=1.0, learning_rate=draw.rate, seed=draw.seed, **ALIKE)
    return draw.fit(draw.train(paired, training))


def plan(draw: Draw, rate: float) -> Training:
    """The training on the rows themselves."""
    steps = max(FEWEST_STEPS, EPOCHS * draw.rows // BATCH)
    return Training(steps=steps, learning_rate=rate, seed=draw.seed, **ALIKE)


WAYS: dict[str, Callable[[Draw], Model]] = {
    "all weights": train_all_weights,
    "LoRA, rank 8": train_lora,
    "head alone": fit_head_alone,
    "pairs, then head": train_on_pairs,
}

if __name__ == "__main__":
    main()
