"""Model and TaskExamples -> Diagnosis: the loss by quantization, layer by layer."""

from typing import TYPE_CHECKING, Any

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.examples.registry import TASK_ROWS, read_rows
from components.scoring.base import choose_metric
from components.scoring.latency import measure_file
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from keras_bert.options.quantization import Quantization
from keras_bert.options.training import Training
from plugins.doctor.artifacts import Diagnosis, DiagnosisReport

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from keras_bert.tasks.base import Task
    from plugins.doctor.layers import QuantizationDiagnosis

# The number of tokens of the rows that files are timed with, unless the model takes fewer.
_TIMED_LENGTH = 128


@component(
    libraries=("ai-edge-litert", "ai-edge-quantizer", "keras", "tensorflow", "tensorflow-model-optimization"),
    kind="measurement",
)
def diagnose(
    model: Input[Model],
    examples: Input[TaskExamples],
    diagnosis: Output[Diagnosis],
    quantization: Quantization = Quantization(),
    rows: int = 256,
    allowed_loss: float | None = None,
) -> None:
    """Quantizes a float model without training, and measures the effect of each layer on validation rows.

    Milliseconds are measured for two files, the float one and the quantized one. The time that a float layer costs is
    an estimate: the difference of the two, in proportion to the layer's share of the weights.

    With `allowed_loss`, the smallest set of layers is searched that must stay float to lose no more than this. The loss
    is in points of the task's main metric on the first `rows` validation rows.
    """
    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.data.task_batches import RecordRows, task_batches
    from keras_bert.models.encoder import input_names
    from plugins.doctor.layers import QuantizationDiagnosis

    task = read_model(model)
    network = task.network()
    names = input_names(network)
    plan = Training()
    first = (
        RecordRows(examples.path)
        .training_batches(plan.micro_batch_size, plan.seed)
        .first(quantization.calibration_batches)
    )
    batches = [{name: batch[name] for name in names} for batch in first]
    batch = next(iter(task_batches(examples.path, "validation", rows).epoch()))
    features = {name: batch[name].numpy() for name in names}
    score = _Score(task, examples, rows)
    before = score()
    report_progress(0, 1, "timing the float file")
    times = [_time(task, None, features)]
    quantized = QuantizationDiagnosis(network, batches, features, quantization.recipe, task.float_layers)
    findings = quantized.diagnose_layers(
        lambda done, total: report_progress(done, total, "layers left float, one by one")
    )
    after, fixed = score(), None
    if allowed_loss is not None:
        fixed = _find_float_layers(
            quantized, [finding.layer for finding in findings], score, before - allowed_loss / 100
        )
    parameters = QuantizationParameters(quantization.recipe, quantized.aware.finish(), task.float_layers)
    times.append(_time(task, parameters, features))
    whole = sum(finding.weights for finding in findings)
    slower = max(0.0, times[0] - times[1])
    diagnosis.write(
        DiagnosisReport(
            recipe=quantization.recipe,
            metric=score.metric,
            rows=score.rows,
            score={"float": before, "quantized": after},
            milliseconds={"float": times[0], "quantized": times[1]},
            distance=quantized.distance,
            layers=[
                {**finding._asdict(), "extra_microseconds": 1000 * slower * finding.weights / whole}
                for finding in findings
            ],
            fix=fixed,
        )
    )
    diagnosis.counts = {"layers": len(findings), "float": before, "quantized": after}


class _Score:
    """The task's main metric on the first validation rows, for the present state of its model.

    The step `quantize` tunes thresholds and tables of labels to the quantized model: so does each score, on the rows
    that it reads, as all validation rows would take much longer; or on the training rows for tasks that need these.
    """

    def __init__(self, task: "Task", examples: TaskExamples, rows: int) -> None:
        self._task, self._scoring = task, TASK_SCORING[task.name]
        self._rows = read_rows(examples, "validation")[:rows]
        self._tuning_rows = self._rows if task.tuned_by == "validation" else read_rows(examples, "train")
        self._labels = task.labels
        self.metric, self.rows = choose_metric("", self._scoring, self._labels), len(self._rows)

    def __call__(self) -> float:
        if self._task.tunes:
            self._task.tune(*TASK_ROWS[self._task.name].tuning_columns(self._tuning_rows))
        answers = self._scoring.answer(self._task, self._rows)
        return self._scoring.score(self._rows, answers, self._labels).metrics[self.metric]


def _find_float_layers(
    quantized: "QuantizationDiagnosis", order: "Sequence[str]", score: _Score, floor: float
) -> dict[str, Any]:
    from plugins.doctor.layers import search_float_layers

    def score_with(layers: "Sequence[str]") -> float:
        with quantized.aware.float_products(layers):
            return score()

    tried: list[tuple[list[str], float]] = []
    for layers, value in search_float_layers(order, score_with, floor - 1e-9):
        report_progress(min(len(tried), 2 * len(order)), 2 * len(order), f"{len(layers)} layers left float")
        tried.append((layers, value))
    layers, value = next((trial for trial in reversed(tried) if trial[1] >= floor - 1e-9), tried[-1])
    return {"wanted": floor, "score": value, "reached": value >= floor - 1e-9, "float_layers": layers}


def _time(task: "Task", parameters: Any, features: dict[str, Any]) -> float:
    """Milliseconds for one full row on one thread, of the file that the model becomes."""
    from keras_bert.export.quantized import export_quantized

    length = min(_TIMED_LENGTH, task.max_length)

    def write(file: "Path") -> None:
        export_quantized(task.network(), file, [length], parameters, features, output=task.output_name)

    milliseconds: float = measure_file(task, [length], write)["milliseconds"][str(length)]
    return milliseconds
