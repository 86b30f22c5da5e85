"""Scores of an exported file on the engines of chips, or on simulators of them."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from components.artifacts.evaluation import MeasuredModel, SeedScores
from components.artifacts.standard import EdgeModel
from components.dsl.errors import input_errors
from components.scoring.blessing import Differences
from components.scoring.candidates import ScoredFile
from components.scoring.scorer import ModelScorer
from components.scoring.significance import compare_models
from keras_bert.core.folders import COVERAGE_FILE

# The time of a row on an engine that is simulated, over that of a row in a batch.
_ENGINE_ROW = 200


class EngineScore(NamedTuple):
    """The scores of a file on an engine, and the scores of its float model on the same rows."""

    references: dict[str, MeasuredModel]
    model: MeasuredModel
    differences: Differences


def read_engines(edge: EdgeModel) -> list[str]:
    """The accelerators that the files of an export were compiled for."""
    return list(json.loads(edge.file(COVERAGE_FILE).read_text())) if edge.file(COVERAGE_FILE).is_file() else []


def engine_work(engines: int, rows: int) -> int:
    """The work of `score_engines` in rows answered in batches."""
    return engines * rows * _ENGINE_ROW


def score_engines(
    scorer: ModelScorer,
    edge: EdgeModel,
    shipped: tuple[str, ScoredFile],
    source: tuple[str, ScoredFile],
    rows: Sequence[Any],
    metrics: Sequence[str],
) -> dict[str, EngineScore]:
    """Scores the shipped `.tflite` file, or what was compiled of its model, on each engine that can run here.

    `shipped` is the row of the table and the file, `source` likewise the float model that it was made of, and `metrics`
    are those that the file must keep.
    """
    from keras_bert.accelerators.recorded import RecordedModel
    from keras_bert.accelerators.registry import answer_rows

    scores = dict[str, EngineScore]()
    (reference,) = scorer.score_seeds(f"{source[0]} on {len(rows)} rows", [source[1]], rows)
    for accelerator in read_engines(edge):
        scorer.report(f"{shipped[0]} on {accelerator}", engine_work(1, len(rows)))
        task, model = shipped[1].open(), RecordedModel(shipped[1].file)
        task.model = model
        # The rows of texts are those that a task asks a file for.
        scorer.scoring.answer(task, rows)
        with input_errors("export.accelerators: "):
            answered = answer_rows(accelerator, shipped[1].file, model.rows())
        if answered is None:
            continue
        model.replay(answered.answers)
        answers = scorer.scoring.answer(task, rows)
        sides, labels = ([answers], [reference.answers]), scorer.labels
        differences = {name: compare_models(scorer.scoring, rows, *sides, labels, name) for name in metrics}
        ours = SeedScores.table([scorer.scoring.score(rows, answers, labels).metrics])
        theirs = SeedScores.table([reference.scores.metrics])
        numbers = answered.numbers or shipped[0].partition(" ")[2]
        scores[f"{numbers} on {answered.engine}, {len(rows)} rows"] = EngineScore(
            {source[0]: MeasuredModel(theirs)}, MeasuredModel(ours), {source[0]: differences}
        )
    return scores
