"""Wrong labels that were planted: how many a ranking of the training rows has among its first ones.

    python -m benchmarks.make_rows planted [--rows 3000] [--share 0.05]
    python -m benchmarks.label_errors benchmarks/jobs/label_errors/sst2.toml [--root FOLDER] [--set KEY=VALUE]

One run makes all rankings: confident learning (`[label_errors]`, its issues first), the out-of-fold loss alone, and, as
the baseline, the loss of the job's teacher, which has learnt from the planted labels itself. Labels that were wrong
before count as right, so that precision is a lower bound.
"""

import argparse
import csv
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.table import print_table, run
from components.artifacts.standard import Model, TaskExamples
from components.examples.registry import read_rows
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from keras_bert.metrics.calibration import probabilities
from pipeline.chains import wire_fine_tuning
from pipeline.job.files import load_settings
from pipeline.pipelines import pipeline_of, wire_capabilities, wire_start
from plugins.label_errors.artifacts import LABEL_TABLES, LabelErrors
from plugins.label_errors.confident_learning import score_labels


def main() -> None:
    """Runs the steps and prints the rankings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="laid over the job")
    parser.add_argument("--root", type=Path, help="where artifacts live, to go on later; else a temporary folder")
    options = parser.parse_args()
    settings = load_settings(options.job, options.set)
    start, examples = wire_start(settings)
    (search,) = wire_capabilities(settings, start, examples)
    label_errors = search.output(LabelErrors)
    teacher = wire_fine_tuning(settings, start, examples, 0).output(Model)
    with tempfile.TemporaryDirectory() as temporary:
        pipeline = pipeline_of(settings.name, [label_errors, teacher])
        result = run(settings, pipeline, options.root or Path(temporary))
        with (result.artifact(label_errors).path / LABEL_TABLES[0]).open(encoding="utf-8", newline="") as stream:
            table = list(csv.DictReader(stream))
        in_sample = in_sample_scores(result.artifact(teacher), result.artifact(examples))
    is_planted = np.array([row["planted"] == "yes" for row in table])
    if is_planted.sum() < 2:
        raise SystemExit(f"at least two of the {len(table)} training rows must be planted; make_rows takes more --rows")
    issues, count = sum(row["likely_wrong"] == "yes" for row in table), int(is_planted.sum())
    right = int(is_planted[:issues].sum())
    print(f"{settings.name}: {count} planted among {len(table)} training rows")
    print(f"likely wrong: {issues} rows; precision {right / max(issues, 1):.1%}, recall {right / count:.1%}\n")
    losses = {
        "loss, out of fold": [float(row["score"]) for row in table],
        "loss, in sample": [in_sample[int(row["row"])] for row in table],
    }
    rankings = {name: is_planted[np.argsort(scores, kind="stable")] for name, scores in losses.items()}
    rankings = {"confident learning, out of fold": is_planted, **rankings}
    print_table([{"ranking": name, **describe(ranked, count)} for name, ranked in rankings.items()])


def describe(ranked: np.ndarray, count: int) -> dict[str, str]:
    """Precision and recall of a ranking, which says whether each row is planted (rows,); k is their number."""
    hits, half = np.cumsum(ranked), count // 2
    shares = {
        "precision at k / 2": hits[half - 1] / half,
        "precision = recall at k": hits[count - 1] / count,
        "recall at 2 k": hits[: 2 * count][-1] / count,
        "average precision": (hits / np.arange(1, len(ranked) + 1))[ranked].mean(),
    }
    return {name: f"{share:.1%}" for name, share in shares.items()}


def in_sample_scores(teacher: Model, examples: TaskExamples) -> list[float]:
    """The probability of each training row's label by a model that learnt from it."""
    task, rows = read_model(teacher), read_rows(examples, "train")
    logits, truth, *_ = TASK_SCORING["classification"].logits(task, rows)
    numbers = {label: number for number, label in enumerate(task.settings()["labels"])}
    return list(score_labels(np.array([numbers[label] for label in truth]), probabilities(logits)))


if __name__ == "__main__":
    main()
