"""Multi-label classification on WNUT-17: which kinds of entities does a sentence name? Teacher, student and files.

    python -m benchmarks.multi_label --data FOLDER [--checkpoint FOLDER] [--seeds 3] [--folder FOLDER]

`--data` holds WNUT-17's three files; the checkpoint is all-MiniLM-L6-v2. The labels of a sentence are the types of the
entities that its tags mark (corporation, creative-work, group, location, person, product); 64 % of the training and
46 % of the test sentences have none. The development rows choose thresholds and weights, the test rows are scored once.

The settings were fixed before any figure was seen: 64 tokens, batches of 32, six epochs at 1e-4 for the teacher, a
student of layers 1, 3 and 5 with six epochs at 2e-4, an epoch for int8. Everything is measured by the job's own table,
with a bag of n-grams as its baseline.
"""

import argparse
import json
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.task_accuracy import spread
from components.artifacts.evaluation import Evaluation
from components.sources.tagged_words import SentenceSource
from pipeline.draft.job import DEFAULT_CHECKPOINT
from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import build_pipeline
from pipeline.settings.schema import Settings
from pipeline.views.terminal import Terminal

# Training, validation and test.
FILES = ("wnut17train.conll", "emerging.dev.conll", "emerging.test.annotated")


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="WNUT-17's files")
    parser.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="by default that of the default job")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="for rows and runs, to go on later; else a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        settings, root = make_settings(options, folder), folder / "runs"
        result = run_pipeline(build_pipeline(settings, root), root, observer=Terminal(Console(stderr=True)))
        if result.state not in ("done", "refused"):
            raise SystemExit(result.message)
        metrics = result.artifacts(Evaluation)[0].read()
    print(f"| model | {' | '.join(metrics.metric_names)} | MB | ms |")
    print(f"|---|{'---:|' * (len(metrics.metric_names) + 2)}")
    for name, model in metrics.models.items():
        scores = [spread([100 * score for score in model.metrics[metric].seeds]) for metric in metrics.metric_names]
        costs = ["" if cost is None else f"{cost:.2f}" for cost in (model.megabytes, model.milliseconds)]
        print(f"| {' | '.join([name, *scores, *costs])} |")


def make_settings(options: argparse.Namespace, folder: Path) -> Settings:
    """The settings of the job, whose rows it writes."""
    train, validation, test = (str(options.data / name) for name in FILES)
    source = SentenceSource(train, validation, test)
    files = {}
    for split, sentences in source.splits().items():
        files[split] = folder / f"{split}.jsonl"
        rows = (
            {"text": " ".join(sentence.words), "labels": sorted({tag[2:] for tag in sentence.tags if tag != "O"})}
            for sentence in sentences
        )
        files[split].write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    training = {"batch_size": 32, "precision": "auto"}
    content = {
        "name": "wnut17-types",
        "max_length": 64,
        "seeds": options.seeds,
        "checkpoint": {"path": options.checkpoint},
        "examples": {"task": "multi_label", "label": "labels", **{split: str(file) for split, file in files.items()}},
        "fine_tuning": {**training, "epochs": 6.0, "learning_rate": 1e-4},
        "student": {"layers": [1, 3, 5]},
        "distillation": {**training, "epochs": 6.0, "learning_rate": 2e-4},
        "quantization": {**training, "epochs": 1.0, "learning_rate": 2e-5},
        "evaluation": {"max_export_loss": 100.0},
    }
    return Settings.model_validate_json(json.dumps(content))


if __name__ == "__main__":
    main()
