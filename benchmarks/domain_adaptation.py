"""Pre-training that goes on with texts of one domain: held-out perplexity before and after, there and elsewhere.

    python -m benchmarks.domain_adaptation --checkpoint FOLDER --general FILE --domain FILE --pairs FILE.tsv

FOLDER is a BERT in Hugging Face's format, the files are text, a blank line ending a document. A checkpoint as
all-MiniLM has no head for masked tokens, and a new one knows nothing: first, head and encoder train on general text.
From there one model goes on with the domain's text and one, for comparison, with general text, for as many steps. A
twentieth of each text's documents is held out of all trainings. The pairs (columns sentence1, sentence2, score) tell
how much of the checkpoint's own training is lost: the correlation of their vectors' cosines, means of the tokens, with
people's scores.
"""

import argparse
import json
import math
import tempfile
from pathlib import Path

from rich.console import Console

from benchmarks.task_accuracy import spread
from components.artifacts.data import PretrainingExamples
from components.artifacts.models import Model
from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import build_pipeline
from pipeline.settings.schema import Settings
from pipeline.views.terminal import Terminal


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--general", type=Path, required=True)
    parser.add_argument("--domain", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=200, help="of each training, 32 rows of 128 tokens")
    parser.add_argument("--seeds", type=int, default=3, help="of the trainings that go on")
    parser.add_argument("--root", type=Path, help="where artifacts live, to go on later; else a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = options.root or Path(temporary) / "root"
        start, elsewhere = pretrain(options.checkpoint, options.general, 0, options, root)
        further = [pretrain(start.path, options.general, seed, options, root)[0] for seed in range(options.seeds)]
        adapted = [pretrain(start.path, options.domain, seed, options, root) for seed in range(options.seeds)]
        rows = {"domain": adapted[0][1], "general": elsewhere}
        ways = {"before": [start], "more general text": further, "the domain's text": [model for model, _ in adapted]}
        print("| trained on | perplexity, domain | perplexity, general | Spearman of the pairs |\n|---|---:|---:|---:|")
        for name, models in ways.items():
            cells = [spread([perplexity(model, rows[text]) for model in models]) for text in rows]
            cells.append(spread([100 * correlation(model, options.pairs) for model in models]))
            print(f"| {name} | {' | '.join(cells)} |")


def pretrain(
    checkpoint: Path, text: Path, seed: int, options: argparse.Namespace, root: Path
) -> tuple[Model, PretrainingExamples]:
    """A model that went on with a text, and the text's rows."""
    content = {
        "name": "domain",
        "checkpoint": {"path": str(checkpoint)},
        "corpus": {"path": str(text)},
        "pretraining_rows": {"objective": "none", "dynamic": True},
        "masking": {"strategy": "whole_words"},
        "pretraining": {"steps": options.steps, "seed": seed},
    }
    settings = Settings.model_validate_json(json.dumps(content))
    result = run_pipeline(build_pipeline(settings, root), root, observer=Terminal(Console(stderr=True)))
    if result.state != "done":
        raise SystemExit(result.message)
    return result.artifacts(Model)[-1], result.artifacts(PretrainingExamples)[0]


def perplexity(model: Model, rows: PretrainingExamples) -> float:
    """Of the hidden tokens of held-out rows."""
    from components.training.model_folder import read_model
    from keras_bert.data.pretraining_batches import pretraining_batches
    from keras_bert.objectives.pretraining import PretrainingObjective
    from keras_bert.options.training import Training
    from keras_bert.training.step import TrainingStep

    step = TrainingStep(read_model(model).model, PretrainingObjective(next_sentence=False), Training(), 1)
    return math.exp(step.evaluate(pretraining_batches(rows.path, "validation", 32))["masked_loss"])


def correlation(model: Model, pairs: Path) -> float:
    """Of the cosines of two texts' vectors with the scores."""
    import numpy as np

    from components.training.model_folder import read_model
    from keras_bert.metrics.correlation import correlations
    from keras_bert.tasks.embedding import Embedding

    task = read_model(model)
    lines = [line.split("\t") for line in pairs.read_text(encoding="utf-8").splitlines()]
    columns = [lines[0].index(name) for name in ("sentence1", "sentence2", "score")]
    firsts, seconds, scores = ([line[column] for line in lines[1:]] for column in columns)
    embedding = Embedding.build(task.encoder, task.tokenizer, max_length=task.max_length, normalize=True)
    cosines = np.sum(np.multiply(embedding.predict(firsts), embedding.predict(seconds)), axis=1)
    return correlations(list(cosines), [float(score) for score in scores])["spearman"]


if __name__ == "__main__":
    main()
