"""Four tasks on one encoder beside a model for each: scores as float and as int8 file, bytes, milliseconds.

    python -m benchmarks.many_tasks --checkpoint FOLDER [--rows 1000] [--seeds 1] [--temperature 1]

SST-2, Banking77, tags of WNUT-17 and STS-B, each with so many training rows and the defaults of `fit` and `quantize`;
the file of all tasks is also made with `dynamic_wi8`, whose activations have ranges by row. The scores are accuracy,
accuracy, F1 of entities and Spearman's correlation, on test rows. Milliseconds are the median of one row of 32 tokens
on one thread: of one task in its own file, of the same task in the file of all, and of all.
"""

import argparse
import collections
import os
import random
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import keras_bert
from benchmarks.new_heads import BATCH_SIZE, SHARE, Columns, build, read, score
from components.scoring.latency import TIMED_ROWS, full_row, time_rows
from keras_bert.options.quantization import RecipeName
from plugins.many_tasks import recipes
from plugins.many_tasks.task import ManyTasks

KINDS = ("sst2", "banking77", "wnut17", "stsb")
LENGTH = 32
# Of the file of all tasks: the one of the single files, and the one whose activations have ranges by row.
RECIPES: tuple[RecipeName, ...] = ("mixed_wi8_ai8", "dynamic_wi8")


def main() -> None:
    """Prints each figure of each seed, and their means and deviations."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--checkpoint", required=True, help="a folder, such as that of all-MiniLM-L6-v2")
    parser.add_argument("--rows", type=int, default=1000, help="of each task")
    parser.add_argument("--scored-rows", type=int, default=1000, help="the most rows that are scored")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--temperature", type=float, default=1.0)
    options = parser.parse_args()
    figures = collections.defaultdict(list)
    for seed in range(options.seeds):
        for name, value in measure(options, seed):
            figures[name].append(value)
            print(f"seed {seed}, {name}: {value:.2f}", flush=True)
    for name, values in figures.items():
        deviation = statistics.stdev(values) if len(values) > 1 else 0.0
        print(f"{name}: {statistics.fmean(values):.2f} ± {deviation:.2f}", flush=True)


def measure(options: argparse.Namespace, seed: int) -> Iterator[tuple[str, float]]:
    """The figures of a seed."""
    train, test = {}, {}
    for kind in KINDS:
        rows, held_out = read(options.data, kind)
        chance = random.Random(seed)
        train[kind] = rows.take(chance.sample(range(len(rows.texts)), min(options.rows, len(rows.texts))))
        places = random.Random(0).sample(range(len(held_out.texts)), len(held_out.texts))
        test[kind] = held_out.take(places[: options.scored_rows])
    data = {kind: tuple(column for column in train[kind] if column is not None) for kind in KINDS}
    settings: dict[str, Any] = {"batch_size": BATCH_SIZE, "seed": seed, "verbose": 0}
    with tempfile.TemporaryDirectory() as folder:
        for kind in KINDS:
            task, file = build(options.checkpoint, kind, train[kind]), Path(folder, f"{kind}.tflite")
            pairs = {} if train[kind].seconds is None else {"pairs": train[kind].seconds}
            task.fit(*train[kind][:2], **pairs, validation_split=SHARE, **settings)
            yield f"{kind} alone, float", 100 * score(task, test[kind])
            keras_bert.quantize(task, *train[kind][:2], **pairs, **settings)
            task.export(file)
            loaded: Any = keras_bert.load(file)
            yield f"{kind} alone, int8", 100 * score(loaded, test[kind])
            yield f"{kind} alone, MB", os.path.getsize(file) / 1e6
            yield f"{kind} alone, ms", time_file(loaded.model)
        many, file = join(options.checkpoint, train), Path(folder, "many.tflite")
        many.fit(data, validation_split=SHARE, temperature=options.temperature, **settings)
        yield from score_all(many.tasks, test, "float")
        many.save(Path(folder, "many"))
        for recipe in RECIPES:
            rounded: Any = keras_bert.load(Path(folder, "many"))
            recipes.quantize(rounded, data, recipe=recipe, temperature=options.temperature, **settings)
            rounded.export(file)
            loaded = keras_bert.load(file)
            yield from score_all(loaded.tasks, test, recipe)
            yield f"together, {recipe}, MB", os.path.getsize(file) / 1e6
            for kind in KINDS:
                yield f"{kind} together, {recipe}, ms", time_file(loaded.tasks[kind].model)
            yield f"all together, {recipe}, ms", time_file(loaded.model)


def join(checkpoint: str, train: Mapping[str, Columns]) -> ManyTasks:
    """The tasks, each as `build` makes it alone, on one encoder."""
    tasks = {KINDS[0]: (base := build(checkpoint, KINDS[0], train[KINDS[0]]))}
    for kind in KINDS[1:]:
        alone = build(checkpoint, kind, train[kind])
        tasks[kind] = type(alone).build(base.encoder, base.tokenizer, **alone.settings(), **alone.head())
    return ManyTasks(tasks)


def score_all(tasks: Mapping[str, Any], test: Mapping[str, Columns], numbers: str) -> Iterator[tuple[str, float]]:
    """The scores of all tasks on one encoder."""
    for kind in KINDS:
        yield f"{kind} together, {numbers}", 100 * score(tasks[kind], test[kind])


def time_file(runtime: Any) -> float:
    """Milliseconds of one row of a file."""
    return time_rows(runtime.predict_on_batch, [full_row(LENGTH, 30000)] * TIMED_ROWS)


if __name__ == "__main__":
    main()
