"""A model or its files -> Validation: the score on validation rows, before test rows are read."""

import contextlib

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.examples.registry import read_rows
from components.scoring.base import choose_metric
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from plugins.search.artifacts import Validation, ValidationScore


@component(
    libraries=("ai-edge-litert", "keras", "scikit-learn", "scipy", "tensorflow", "tensorflow-text", "tokenizers")
)
def validate(
    examples: Input[TaskExamples],
    validation: Output[Validation],
    model: Input[Model] | None = None,
    edge: Input[EdgeModel] | None = None,
    metric: str = "",
) -> None:
    """Scores a model, or the file that would be pushed, on all validation rows.

    A quantized model answers as its file will. `edge` are exported files, in place of a model.
    """
    from keras_bert.compress.quantization_parameters import quantized_activations, read_quantization
    from keras_bert.export.bundle import load_exported

    report_progress(0, 1, "validation rows")
    if model is not None:
        task, quantization = read_model(model), read_quantization(model.path)
    else:
        assert edge is not None
        task, quantization = load_exported(edge.path), None
    scoring, labels = TASK_SCORING[task.name], task.labels
    chosen, rows = choose_metric(metric, scoring, labels), read_rows(examples, "validation")
    with contextlib.nullcontext() if quantization is None else quantized_activations(task.network(), quantization):
        score = scoring.score(rows, scoring.answer(task, rows), labels).metrics[chosen]
    validation.write(ValidationScore(chosen, score, len(rows)))
    validation.counts = {chosen: score}
