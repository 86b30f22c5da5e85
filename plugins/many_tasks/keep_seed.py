"""Chooses the seed whose files are pushed: all tasks are in one file, so that none can choose its own."""

import statistics

from components.artifacts.evaluation import FurtherModels, FurtherRows
from components.artifacts.standard import EdgeModel, TaskExamples
from components.dsl.component import Input, Output, component
from components.examples.registry import read_rows
from components.scoring.base import choose_metric
from components.scoring.candidates import SHIPPED, find_candidates
from components.scoring.scorer import ModelScorer


@component(
    libraries=(
        *("ai-edge-litert", "keras", "onnxruntime", "scikit-learn"),
        *("scipy", "tensorflow", "tensorflow-text", "tokenizers"),
    )
)
def keep_seed(
    examples: Input[list[TaskExamples]],
    edges: Input[list[EdgeModel]],
    rows: Output[FurtherModels],
    names: tuple[str, ...],
    metrics: tuple[str, ...],
) -> None:
    """The seed with the best mean of the scores of all tasks, on validation rows, of the file that is shipped.

    `examples` and `metrics` are in the order of `names`; `edges` are the files of each seed.
    """
    scores = list[list[float]]()
    for name, source, metric in zip(names, examples, metrics, strict=True):
        candidates, validation = find_candidates([], [], edges, name), read_rows(source, "validation")
        shipped = next(title for title in SHIPPED if title in candidates)
        scorer = ModelScorer(source.features(), len(edges) * len(validation), name)
        scored = scorer.score_seeds(f"{name}: {shipped}", candidates[shipped], validation)
        chosen = choose_metric(metric, scorer.scoring, scorer.labels)
        scores.append([seed.scores.metrics[chosen] for seed in scored])
    means = [statistics.fmean(of_seed) for of_seed in zip(*scores, strict=True)]
    rows.write(FurtherRows({}, kept=means.index(max(means))))
    rows.counts = {f"seed {seed}": mean for seed, mean in enumerate(means)}
