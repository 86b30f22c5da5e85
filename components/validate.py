"""A model or its files -> Validation: the score on validation rows, while test rows are still unread."""

import contextlib
import json

from components.artifacts.edge_model import EdgeModel
from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.artifacts.validation import VALIDATION_FILE, Validation
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.examples.registry import read_rows
from components.scoring.base import choose_metric
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from keras_bert.checks import check


@component(libraries=("ai-edge-litert", "keras", "scikit-learn", "scipy", "tensorflow", "tensorflow-text"))
def validate(
    examples: Input[TaskExamples],
    validation: Output[Validation],
    model: Input[Model] | None = None,
    edge: Input[EdgeModel] | None = None,
    metric: str = "",
) -> None:
    """Asks a model, or the file that would be pushed, about all validation rows.

    Args:
        examples: their validation split is read.
        validation: the score.
        model: of the task; one that was rounded answers as its file will.
        edge: exported files, in the place of a model.
        metric: of the task; its main one if empty.

    Raises:
        InputError: the task has no such metric.
    """
    check("validate", "model", (model is None) != (edge is None), "be given, or edge", model)
    from keras_bert.compress.rounding import find_rounding, rounded
    from keras_bert.export.bundle import load_exported

    report_progress(0, 1, "validation rows")
    if model is not None:
        task, rounding = read_model(model), find_rounding(model.path)
    else:
        assert edge is not None
        task, rounding = load_exported(edge.path), None
    scoring, labels = TASK_SCORING[task.name], getattr(task, "labels", ())
    chosen, rows = choose_metric(metric, scoring, labels), read_rows(examples, "validation")
    with contextlib.nullcontext() if rounding is None else rounded(task.network(), rounding):
        score = scoring.score(rows, scoring.ask(task, rows), labels).metrics[chosen]
    content = {"metric": chosen, "score": score, "rows": len(rows)}
    validation.file(VALIDATION_FILE).write_text(json.dumps(content, indent=1) + "\n")
    validation.counts = {chosen: score}
