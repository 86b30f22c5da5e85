"""Search on SQuAD: which paragraph answers a question? Before and after training, beside sentence-transformers.

    python -m benchmarks.retrieval --data FOLDER [--checkpoint FOLDER] [--rows 4000] [--peers-python PATH]

`--data` holds SQuAD's `train-v1.1-part.json` and `dev-v1.1.json`; the checkpoint is all-MiniLM-L6-v2. Training
rows are the first `--rows` questions of the training file with their paragraphs; a tenth, taken out by the hash of the
question, are validation rows. Test rows are the first question of each of the first `--paragraphs` paragraphs of the
dev file, which are searched; no paragraph stands in both files. Everything is measured by the job's own table, and so
are the vectors of the checkpoint before any training.

The settings were fixed before any figure was seen: 128 tokens, batches of 32, one epoch at 2e-5 for the teacher, a
student of layers 1, 3 and 5 with two epochs at 1e-4, int8. The peer, an interpreter with sentence-transformers,
trains the same checkpoint on the same rows with the same batch size, steps, learning rate, scale and seeds.
"""

import argparse
import dataclasses
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from benchmarks.task_accuracy import spread
from components.artifacts.data import TaskExamples
from components.artifacts.evaluation import Evaluation
from components.examples.registry import read_rows
from components.examples.retrieval import SplitCorpus
from components.scoring.registry import TASK_SCORING
from components.sources.questions import read_squad
from components.sources.retrieval import QueryRow
from keras_bert.metrics.retrieval import METRICS, rank_passages, retrieval_scores
from pipeline.draft.job import DEFAULT_CHECKPOINT
from pipeline.orchestrator.runner import RunResult, run_pipeline
from pipeline.pipelines import build_pipeline
from pipeline.settings.schema import Settings
from pipeline.views.terminal import Terminal

PEER = "benchmarks/peers/sentence_transformers_retrieval.py"


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="SQuAD's files")
    parser.add_argument("--checkpoint", default=DEFAULT_CHECKPOINT, help="by default that of the default job")
    parser.add_argument("--rows", type=int, default=4000, help="questions to train on")
    parser.add_argument("--paragraphs", type=int, default=2000, help="of the dev file, each with its first question")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--peers-python", help="without it, only ours")
    parser.add_argument("--folder", type=Path, help="for rows and runs, to go on later; else a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.folder or Path(temporary)).absolute()
        folder.mkdir(parents=True, exist_ok=True)
        settings, root = make_settings(options, folder), folder / "runs"
        result = run_pipeline(build_pipeline(settings, root), root, observer=Terminal(Console(stderr=True)))
        if result.state not in ("done", "refused"):
            raise SystemExit(result.message)
        rows = [*our_rows(settings, result), *peer_rows(settings, result, options, folder)]
    print(f"| model | {' | '.join(METRICS)} | minutes |")
    print(f"|---|{'---:|' * (len(METRICS) + 1)}", *rows, sep="\n")


def make_settings(options: argparse.Namespace, folder: Path) -> Settings:
    """The settings of the job, whose rows it writes."""
    train, test = folder / "train.jsonl", folder / "test.jsonl"
    write_rows(train, itertools.islice(read_pairs(options.data / "train-v1.1-part.json"), options.rows))
    write_rows(test, first_questions(options.data / "dev-v1.1.json", options.paragraphs))
    alike = {"batch_size": 32, "precision": "auto"}
    content = {
        "name": "squad-search",
        "max_length": 128,
        "seeds": options.seeds,
        "checkpoint": {"path": options.checkpoint},
        "examples": {"task": "retrieval", "train": str(train), "test": str(test)},
        "fine_tuning": {**alike, "epochs": 1.0, "learning_rate": 2e-5, "keep": "last", "validations": 2},
        "student": {"layers": [1, 3, 5]},
        "distillation": {**alike, "epochs": 2.0, "learning_rate": 1e-4},
        "quantization": {**alike, "epochs": 0.5, "learning_rate": 2e-5},
        "evaluation": {"max_export_loss": 100.0},
    }
    return Settings.model_validate_json(json.dumps(content))


def read_pairs(file: Path) -> Iterator[tuple[str, str]]:
    """Each question of a file of SQuAD with its paragraph."""
    for record in read_squad(str(file)):
        yield record.question.strip(), record.context.strip()


def first_questions(file: Path, paragraphs: int) -> list[tuple[str, str]]:
    """The first question of each of the first paragraphs."""
    firsts = dict[str, str]()
    for question, paragraph in read_pairs(file):
        firsts.setdefault(paragraph, question)
    return [(question, paragraph) for paragraph, question in list(firsts.items())[:paragraphs]]


def write_rows(file: Path, pairs: Any) -> None:
    """Writes pairs as rows of a job."""
    lines = (json.dumps({"query": query, "passage": passage}) for query, passage in pairs)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def our_rows(settings: Settings, result: RunResult) -> Iterator[str]:
    """The lines of the checkpoint without training, and of the job's table."""
    from keras_bert.interop.hugging_face import from_hugging_face

    assert settings.checkpoint is not None
    rows = read_rows(result.artifacts(TaskExamples)[0], "test")
    task, scoring = from_hugging_face(settings.checkpoint.folder()), TASK_SCORING["retrieval"]
    task.max_length = settings.max_length
    yield line("zero-shot", [scoring.score(rows, scoring.answer(task, rows), []).metrics])
    seconds = {name: steps_seconds(result, step) for name, step in (("teacher", "fine_tune"), ("student", "distill"))}
    for name, model in result.artifacts(Evaluation)[0].read().models.items():
        seeds = len(next(iter(model.metrics.values())).seeds)
        scores = [{metric: model.metrics[metric].seeds[seed] for metric in METRICS} for seed in range(seeds)]
        yield line(name, scores, seconds.get(name, ""))


def steps_seconds(result: RunResult, name: str) -> str:
    """The mean minutes of the steps of a name that ran."""
    times = [step.seconds for step in result.steps if step.name.startswith(name) and step.state == "ran"]
    return f"{statistics.fmean(times) / 60:.1f}" if times else "cached"


def peer_rows(settings: Settings, result: RunResult, options: argparse.Namespace, folder: Path) -> Iterator[str]:
    """The line of sentence-transformers, which trains on the same training rows; our metrics score its vectors."""
    if not options.peers_python:
        return
    assert settings.checkpoint is not None
    examples = result.artifacts(TaskExamples)[0]
    train, test = (read_rows(examples, split) for split in ("train", "test"))
    corpus = SplitCorpus.of(test)
    texts = {"train": as_pairs(train), "queries": [row.query for row in test], "passages": corpus.passages}
    (folder / "peer.json").write_text(json.dumps(texts))
    command = [options.peers_python, PEER, str(settings.checkpoint.folder()), str(folder / "peer.json")]
    training = dataclasses.asdict(settings.fine_tuning)
    sizes = [f"--{name.replace('_', '-')}={training[name]}" for name in ("epochs", "batch_size", "learning_rate")]
    sizes += [f"--max-length={settings.max_length}", f"--out={folder / 'peer.npz'}"]
    scores, minutes = [], []
    for seed in range(options.seeds):
        done = subprocess.run([*command, *sizes, f"--seed={seed}"], check=True, stdout=subprocess.PIPE, text=True)
        sys.stderr.write(done.stdout)
        minutes.append(json.loads(done.stdout)["minutes"])
        vectors = np.load(folder / "peer.npz")
        scores.append(retrieval_scores(rank_passages(vectors["queries"], vectors["passages"], corpus.relevant)))
    yield line("sentence-transformers, fine-tuned", scores, f"{statistics.fmean(minutes):.1f}")


def as_pairs(rows: Sequence[QueryRow]) -> list[tuple[str, str]]:
    """Each query with each of its passages."""
    return [(row.query, passage) for row in rows for passage in row.passages]


def line(name: str, scores: Sequence[dict[str, float]], minutes: str = "") -> str:
    """A line of the table, points over seeds."""
    cells = [spread([100 * score[metric] for score in scores]) for metric in METRICS]
    return f"| {' | '.join([name, *cells, minutes])} |"


if __name__ == "__main__":
    main()
