"""A model of several tasks -> Validation: the mean of their scores on validation rows."""

import contextlib
import statistics

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.examples.registry import read_rows
from components.scoring.base import choose_metric
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from plugins.search.artifacts import Validation, ValidationScore


@component(libraries=("keras", "scikit-learn", "scipy", "tensorflow", "tensorflow-text", "tokenizers"))
def validate_together(
    examples: Input[list[TaskExamples]],
    model: Input[Model],
    validation: Output[Validation],
    names: tuple[str, ...],
    metrics: tuple[str, ...],
) -> None:
    """Scores each task of a model on all validation rows; `examples` and `metrics` are in the order of `names`.

    A quantized model answers as its file will.
    """
    from keras_bert.compress.quantization_parameters import quantized_activations, read_quantization

    many, scores, count = read_model(model), dict[str, float](), 0
    many.quantization = read_quantization(model.path)
    for task_index, (name, source, metric) in enumerate(zip(names, examples, metrics, strict=True)):
        report_progress(task_index, len(names), f"validation rows of {name}")
        task, rows = many.part(name), read_rows(source, "validation")
        scoring, labels, quantization = TASK_SCORING[task.name], task.labels, task.quantization
        chosen = choose_metric(metric, scoring, labels)
        with contextlib.nullcontext() if quantization is None else quantized_activations(task.network(), quantization):
            answers = scoring.answer(task, rows)
        scores[f"{name} {chosen}"] = scoring.score(rows, answers, labels).metrics[chosen]
        count += len(rows)
    validation.write(ValidationScore(f"mean of {' and '.join(scores)}", statistics.fmean(scores.values()), count))
    validation.counts = scores
