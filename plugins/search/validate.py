"""A model or its files -> Validation: the score on validation rows, before test rows are read."""

import contextlib
import statistics

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
    examples: Input[list[TaskExamples]],
    validation: Output[Validation],
    model: Input[Model] | None = None,
    edge: Input[EdgeModel] | None = None,
    names: tuple[str, ...] = ("",),
    metrics: tuple[str, ...] = ("",),
) -> None:
    """Scores a model, or the file that would be pushed, on all validation rows: the mean of the scores of its tasks.

    A quantized model answers as its file will. `edge` are exported files, in place of a model. `examples` and `metrics`
    are in the order of `names`, the tasks; the task of a model of one has no name.
    """
    from keras_bert.compress.quantization_parameters import quantized_activations, read_quantization
    from keras_bert.export.bundle import load_exported
    from keras_bert.tasks.base import take_part

    if model is not None:
        whole = read_model(model)
        whole.quantization = read_quantization(model.path)
    else:
        assert edge is not None
        whole = load_exported(edge.path)
    scores, count = dict[str, float](), 0
    for task_index, (name, source, metric) in enumerate(zip(names, examples, metrics, strict=True)):
        report_progress(task_index, len(names), f"validation rows {name}".rstrip())
        task, rows = take_part(whole, name), read_rows(source, "validation")
        scoring, labels, quantization = TASK_SCORING[task.name], task.labels, task.quantization
        chosen = choose_metric(metric, scoring, labels)
        with contextlib.nullcontext() if quantization is None else quantized_activations(task.network(), quantization):
            answers = scoring.answer(task, rows)
        scores[f"{name} {chosen}".lstrip()] = scoring.score(rows, answers, labels).metrics[chosen]
        count += len(rows)
    measured = " and ".join(scores)
    described = measured if len(scores) == 1 else f"mean of {measured}"
    validation.write(ValidationScore(described, statistics.fmean(scores.values()), count))
    validation.counts = scores
