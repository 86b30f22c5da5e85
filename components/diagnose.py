"""Model and TaskExamples -> Diagnosis: which layers rounding hurts."""

import json
from typing import TYPE_CHECKING, Any

from components.artifacts.diagnosis import DIAGNOSIS_FILE, Diagnosis
from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.examples.registry import read_rows
from components.scoring.base import choose_metric
from components.scoring.registry import TASK_SCORING
from components.scoring.weighing import weigh_file
from components.training.model_folder import read_model
from components.training.on_rows import training_rows
from keras_bert.checks import check
from keras_bert.options.quantization import RECIPES, Quantization
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from collections.abc import Sequence

    from keras_bert.compress.diagnosis import Diagnosis as Patient
    from keras_bert.tasks.base import Task

# Tokens of the full rows that files are timed with, if the model takes as many.
_TIMED_LENGTH = 128


@component(
    libraries=("ai-edge-litert", "ai-edge-quantizer", "keras", "tensorflow", "tensorflow-model-optimization"),
    alone=True,
)
def diagnose(
    model: Input[Model],
    examples: Input[TaskExamples],
    diagnosis: Output[Diagnosis],
    quantization: Quantization = Quantization(),
    rows: int = 256,
    allowed_loss: float | None = None,
) -> None:
    """Rounds a float model as it is, and tells layer by layer what that does to validation rows.

    Milliseconds are those of two files, the float one and the rounded one; what a layer costs if it stays float is its
    share of the weights of what lies between them, an estimate.

    Args:
        model: a float model of any task.
        examples: training rows show how far activations reach, the first validation rows are looked at.
        diagnosis: what was found.
        quantization: what is rounded, and how; layers that it leaves float are rounded here, too.
        rows: how many validation rows.
        allowed_loss: points of the task's main metric on these rows that rounding may cost; then the smallest set of
            layers is looked for that must stay float for it. None for no search.

    Raises:
        InputError: the recipe has no integers.
    """
    check("diagnose", "rows", rows >= 1, "be at least 1", rows)
    if not RECIPES[quantization.recipe].integers:
        raise InputError(f"quantization.recipe must have integers to be diagnosed, got {quantization.recipe!r}")
    from keras_bert.compress.diagnosis import Diagnosis as Patient
    from keras_bert.compress.rounding import Rounding
    from keras_bert.data.task_batches import task_batches
    from keras_bert.models.encoder import input_names

    task = read_model(model)
    network = task.network()
    names = input_names(network)
    plan = training_rows(examples, Training()).after(0, stop=quantization.calibration_batches)
    batches = [{name: batch[name] for name in names} for batch in plan]
    batch = next(iter(task_batches(examples.path, "validation", rows).epoch()))
    features = {name: batch[name].numpy() for name in names}
    score = _Score(task, examples, rows)
    before = score()
    report_progress(0, 1, "timing the float file")
    times = [_time(task, None, features)]
    patient = Patient(network, batches, features, quantization.recipe)
    findings = patient.find(lambda done, total: report_progress(done, total, "layers left float, one by one"))
    after, fixed = score(), None
    if allowed_loss is not None:
        fixed = _fix(patient, [finding.layer for finding in findings], score, before - allowed_loss / 100)
    rounding = Rounding(quantization.recipe, patient.aware.finish())
    times.append(_time(task, rounding, features))
    whole = sum(finding.weights for finding in findings)
    slower = max(0.0, times[0] - times[1])
    content: dict[str, Any] = {
        "recipe": quantization.recipe,
        "metric": score.metric,
        "rows": score.rows,
        "score": {"float": before, "rounded": after},
        "milliseconds": {"float": times[0], "rounded": times[1]},
        "distance": patient.distance,
        "layers": [
            {**finding._asdict(), "extra_microseconds": 1000 * slower * finding.weights / whole} for finding in findings
        ],
        "fix": fixed,
    }
    diagnosis.file(DIAGNOSIS_FILE).write_text(json.dumps(content, indent=1) + "\n")
    diagnosis.counts = {"layers": len(findings), "float": before, "rounded": after}


class _Score:
    """The task's main metric on the first validation rows, as its model stands now."""

    def __init__(self, task: "Task", examples: TaskExamples, rows: int) -> None:
        self._task, self._scoring = task, TASK_SCORING[task.name]
        self._rows = read_rows(examples, "validation")[:rows]
        self._labels = getattr(task, "labels", ())
        self.metric, self.rows = choose_metric("", self._scoring, self._labels), len(self._rows)

    def __call__(self) -> float:
        answers = self._scoring.ask(self._task, self._rows)
        return self._scoring.score(self._rows, answers, self._labels).metrics[self.metric]


def _fix(patient: "Patient", order: "Sequence[str]", score: _Score, wanted: float) -> dict[str, Any]:
    from keras_bert.compress.diagnosis import fewest_float

    def score_with(layers: "Sequence[str]") -> float:
        with patient.aware.left_float(layers):
            return score()

    tried: list[tuple[list[str], float]] = []
    for layers, value in fewest_float(order, score_with, wanted - 1e-9):
        report_progress(min(len(tried), 2 * len(order)), 2 * len(order), f"{len(layers)} layers left float")
        tried.append((layers, value))
    layers, value = next((each for each in reversed(tried) if each[1] >= wanted - 1e-9), tried[-1])
    return {"wanted": wanted, "score": value, "reached": value >= wanted - 1e-9, "float_layers": layers}


def _time(task: "Task", rounding: Any, features: dict[str, Any]) -> float:
    """Milliseconds for one full row on one thread, of the file that the model becomes."""
    length = min(_TIMED_LENGTH, task.max_length)
    found: float = weigh_file(task, rounding, [length], [length], features)["milliseconds"][str(length)]
    return found
