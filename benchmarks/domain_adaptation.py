"""Pre-training that goes on with texts of one domain: held-out perplexity before and after, there and elsewhere.

    python -m benchmarks.domain_adaptation benchmarks/jobs/domain.toml --general FILE --domain FILE --pairs FILE.tsv

The files are text, a blank line ending a document. A checkpoint as all-MiniLM has no head for masked tokens, and a new
one knows nothing: first, head and encoder train on general text. From there one model goes on with the domain's text
and one, for comparison, with general text, for as many steps. A twentieth of each text's documents is held out of all
trainings. The pairs (columns sentence1, sentence2, score) tell how much of the checkpoint's own training is lost: the
correlation of their vectors' cosines, means of the tokens, with people's scores.
"""

import argparse
import json
import math
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.table import print_table, run, spread
from components.artifacts.standard import Model, PretrainingExamples
from components.sources.table import TableSource
from components.training.model_folder import read_model
from pipeline.job.files import load_settings
from pipeline.pipelines import build_pipeline


def main() -> None:
    """Prints a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("job", type=Path, help="a pre-training that starts from a checkpoint")
    parser.add_argument("--general", type=Path, required=True)
    parser.add_argument("--domain", type=Path, required=True)
    parser.add_argument("--pairs", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=3, help="of the trainings that go on")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="laid over the job")
    parser.add_argument("--root", type=Path, help="where artifacts live, to go on later; else a temporary folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root, seeds = options.root or Path(temporary) / "root", range(options.seeds)
        start, elsewhere = pretrain(options, options.general, [], root)
        goes_on = [[f"checkpoint.path={json.dumps(str(start.path))}", f"pretraining.seed={seed}"] for seed in seeds]
        further = [pretrain(options, options.general, overrides, root)[0] for overrides in goes_on]
        adapted = [pretrain(options, options.domain, overrides, root) for overrides in goes_on]
        rows = {"domain": adapted[0][1], "general": elsewhere}
        ways = {"before": [start], "more general text": further, "the domain's text": [model for model, _ in adapted]}
        table = []
        for name, models in ways.items():
            cells = {
                f"perplexity, {text}": [perplexity(model, held) for model in models] for text, held in rows.items()
            }
            cells["Spearman of the pairs"] = [100 * correlation(model, options.pairs) for model in models]
            table.append({"trained on": name, **{column: spread(values) for column, values in cells.items()}})
        print_table(table)


def pretrain(
    options: argparse.Namespace, text: Path, overrides: list[str], root: Path
) -> tuple[Model, PretrainingExamples]:
    """A model that went on with a text, and the text's rows."""
    settings = load_settings(options.job, [*options.set, f"corpus.path={json.dumps(str(text))}", *overrides])
    result = run(settings, build_pipeline(settings, root), root)
    return result.artifacts(Model)[-1], result.artifacts(PretrainingExamples)[0]


def perplexity(model: Model, rows: PretrainingExamples) -> float:
    """Of the hidden tokens of held-out rows."""
    from keras_bert.data.pretraining_batches import pretraining_batches
    from keras_bert.objectives.pretraining import PretrainingObjective
    from keras_bert.options.training import Training
    from keras_bert.training.step import TrainingStep

    step = TrainingStep(read_model(model).model, PretrainingObjective(next_sentence=False), Training(), 1)
    return math.exp(step.evaluate(pretraining_batches(rows.path, "validation", 32))["masked_loss"])


def correlation(model: Model, pairs: Path) -> float:
    """Of the cosines of two texts' vectors with the scores."""
    from keras_bert.metrics.regression import correlations
    from keras_bert.tasks.embedding import Embedding

    source = TableSource(str(pairs), text="sentence1", label="score", second_text="sentence2", task="regression")
    task, rows = read_model(model), source.read(source.train)
    embedding = Embedding.build(task.encoder, task.tokenizer, max_length=task.max_length, normalize=True)
    firsts, seconds = [row.text for row in rows], [str(row.second_text) for row in rows]
    cosines = np.sum(embedding.predict(firsts) * embedding.predict(seconds), axis=1)
    return correlations(list(cosines), [float(row.label) for row in rows])["spearman"]


if __name__ == "__main__":
    main()
