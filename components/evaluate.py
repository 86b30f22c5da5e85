"""Evaluation of what will be shipped: the exported files themselves, on rows that nothing was trained or tuned on."""

import dataclasses
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from components.artifacts.blessing import Blessing
from components.artifacts.edge_model import EdgeModel
from components.artifacts.evaluation import Evaluation
from components.artifacts.model import Model
from components.artifacts.pushed import Pushed
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.scoring.classes import Row, score, score_bag_of_words, score_majority, time_passages
from components.training.model_folder import read_model
from keras_bert.config import check

if TYPE_CHECKING:
    import numpy as np

    Features = dict[str, np.ndarray[Any, Any]]
    Classify = Callable[..., Any]

logger = logging.getLogger(__name__)

# Rows of the table that the decision looks at.
INT8 = "tflite int8"
PREVIOUS = "pushed before"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What a model must reach to be blessed; all numbers are points of test accuracy, 0 to 100.

    Attributes:
        min_accuracy: of the int8 file; it must also beat always answering the commonest label.
        max_int8_loss: the most that the int8 file may lose against the float student.
        max_regression: the most that the int8 file may lose against the version pushed before, where that
            one knows the same labels.
    """

    min_accuracy: float = 0.0
    max_int8_loss: float = 1.5
    max_regression: float = 1.0

    def __post_init__(self) -> None:
        for field in ("min_accuracy", "max_int8_loss", "max_regression"):
            check("Thresholds", field, 0 <= getattr(self, field) <= 100, "be between 0 and 100", getattr(self, field))


@component(libraries=("ai-edge-litert", "keras", "onnxruntime", "scikit-learn", "tensorflow", "tensorflow-text"))
def evaluate(
    teacher: Input[Model],
    student: Input[Model],
    edge: Input[EdgeModel],
    examples: Input[TaskExamples],
    evaluation: Output[Evaluation],
    blessing: Output[Blessing],
    previous: Input[Pushed] | None = None,
    thresholds: Thresholds = Thresholds(),
) -> None:
    """Measures every model on the test split, beside two baselines, and decides whether the files may be pushed.

    Args:
        teacher: the fine-tuned classifier.
        student: the float student, before quantization.
        edge: the exported files.
        examples: their test split is read here and nowhere else.
        evaluation: a row a model.
        blessing: the decision and its reasons.
        previous: the version pushed before, measured on the same rows.
        thresholds: what decides.
    """
    from keras_bert.data.examples import read_texts
    from keras_bert.data.records import read_labels

    _use_one_thread()
    labels = read_labels(examples.path)
    train, test = (
        [Row(text, second, labels.index(label)) for text, second, label in read_texts(examples.path, split)]
        for split in ("train", "test")
    )
    features = _read_features(examples)
    truth = [row.label for row in test]
    candidates = _candidates(teacher, student, edge)
    total = len(candidates) + 2
    report_progress(0, total, "bag of words")
    rows = {
        "majority class": score_majority(train, test, len(labels)),
        "bag of words": score_bag_of_words(train, test, len(labels)),
    }
    for number, (name, (classify, file)) in enumerate(candidates.items(), start=1):
        report_progress(number, total, name)
        rows[name] = _measure(classify, features, truth, len(labels), file)
    report_progress(total - 1, total, PREVIOUS)
    rows |= _measure_previous(previous, labels, test, truth)
    decision = decide(rows, thresholds)
    if previous is not None and PREVIOUS not in rows:
        decision["reasons"].append(f"not compared: the version before, {previous.location()}, knows other labels")
    content = {"labels": labels, "test_rows": len(test), "models": rows}
    evaluation.file("metrics.json").write_text(json.dumps(content, indent=1) + "\n")
    blessing.file("blessing.json").write_text(json.dumps(decision, indent=1) + "\n")
    evaluation.counts = {"test_rows": len(test), "accuracy": rows[INT8]["accuracy"]}
    blessing.counts = {"blessed": decision["blessed"]}


def decide(rows: dict[str, dict[str, Any]], thresholds: Thresholds) -> dict[str, Any]:
    """Whether the int8 file may be pushed: {"blessed": ..., "reasons": [...]}; the reasons say what was compared."""
    points = {name: 100 * row["accuracy"] for name, row in rows.items()}
    int8 = points[INT8]
    floors = {
        f"evaluation.min_accuracy {thresholds.min_accuracy:.2f}": thresholds.min_accuracy,
        f"the float student's {points['student']:.2f} - {thresholds.max_int8_loss}": points["student"]
        - thresholds.max_int8_loss,
    }
    if PREVIOUS in points:
        before = points[PREVIOUS]
        floors[f"the version before's {before:.2f} - {thresholds.max_regression}"] = before - thresholds.max_regression
    # A hair of tolerance: percentages of counts do not subtract exactly.
    verdicts = [
        (int8 >= floor - 1e-9, f"int8 accuracy {int8:.2f} must be at least {name}") for name, floor in floors.items()
    ]
    majority = points["majority class"]
    verdicts.append((int8 > majority, f"int8 accuracy {int8:.2f} must be above the majority class's {majority:.2f}"))
    return {
        "blessed": all(holds for holds, _ in verdicts),
        "reasons": [f"{'yes' if holds else 'NO'}: {rule}" for holds, rule in verdicts],
    }


def _use_one_thread() -> None:
    """Latencies are for one thread; TensorFlow takes the setting only before its first operation."""
    import tensorflow as tf

    try:
        tf.config.threading.set_intra_op_parallelism_threads(1)
        tf.config.threading.set_inter_op_parallelism_threads(1)
    except RuntimeError:
        logger.warning("TensorFlow already runs in this process: the Keras models' milliseconds are for all threads")


def _read_features(examples: TaskExamples) -> "list[Features]":
    """The test rows as model inputs, each (1, length), without padding."""
    from keras_bert.data.examples import task_batches
    from keras_bert.models.encoder import INPUT_NAMES

    rows = []
    for batch in task_batches(examples.path, "test", 1).epoch():
        length = int(batch["padding_mask"].numpy().sum())
        rows.append({name: batch[name].numpy()[:, :length] for name in INPUT_NAMES})
    return rows


def _candidates(teacher: Model, student: Model, edge: EdgeModel) -> "dict[str, tuple[Classify, Path]]":
    """Name -> how to classify one passage, and the file that does it."""
    from keras_bert.export.runtimes import OnnxClassifier, TFLiteClassifier

    found: dict[str, tuple[Classify, Path]] = {
        name: (_keras_classifier(model), model.file("model.keras"))
        for name, model in (("teacher", teacher), ("student", student))
    }
    for name, file in (("tflite float32", "model_float32.tflite"), (INT8, "model.tflite")):
        found[name] = (TFLiteClassifier(edge.file(file)), edge.file(file))
    found["onnx float32"] = (OnnxClassifier(edge.file("model.onnx")), edge.file("model.onnx"))
    return found


def _keras_classifier(artifact: Model) -> "Classify":
    """A Keras model as a function of the three inputs."""
    import tensorflow as tf

    from keras_bert.models.encoder import INPUT_NAMES

    network = read_model(artifact)[0]
    signature = [tf.TensorSpec((1, None), tf.int32, name=name) for name in INPUT_NAMES]
    traced = tf.function(lambda *inputs: network(dict(zip(INPUT_NAMES, inputs, strict=True))), signature)

    def classify(**inputs: "np.ndarray[Any, Any]") -> "np.ndarray[Any, Any]":
        answer: np.ndarray[Any, Any] = traced(*(tf.constant(inputs[name]) for name in INPUT_NAMES)).numpy()
        return answer

    return classify


def _measure(
    classify: "Classify", features: "Sequence[Features]", truth: Sequence[int], num_labels: int, file: Path
) -> dict[str, Any]:
    """Quality on all rows, milliseconds for one, and megabytes of the file."""
    predicted = [int(classify(**row)[0].argmax()) for row in features]
    return {
        **score(truth, predicted, num_labels),
        "milliseconds": time_passages(classify, features),
        "megabytes": file.stat().st_size / 1e6,
    }


def _measure_previous(
    previous: Pushed | None, labels: list[str], test: Sequence[Row], truth: Sequence[int]
) -> dict[str, dict[str, Any]]:
    """The version pushed before, with its own vocabulary, on the same texts; nothing if it knows other labels."""
    from keras_bert.export.bundle import Bundle

    if previous is None:
        return {}
    bundle = Bundle(previous.location())
    if bundle.labels != labels:
        return {}
    features = [bundle.encode(row.text, row.second_text or None) for row in test]
    return {PREVIOUS: _measure(bundle.classifier, features, truth, len(labels), bundle.model_path)}
