"""The head of a classifier as a logistic regression on the vectors of an encoder."""

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors
from components.examples.registry import read_rows
from components.examples.texts import split_texts
from components.training.model_folder import read_model, write_model
from components.training.tuning import HeadSettings, build_task, find_class_weights, tune_task
from keras_bert.core.checks import check
from keras_bert.options.data import Pooling
from keras_bert.options.tables import ClassWeights
from plugins.few_shot.paired_rows import PAIRED_TASKS


@component(libraries=("keras", "numpy", "scipy", "tensorflow", "tensorflow-text", "threadpoolctl"), kind="training")
def fit_head(
    encoder: Input[Model],
    examples: Input[TaskExamples],
    model: Output[Model],
    pooling: Pooling | None = None,
    class_weights: ClassWeights = "none",
    l2: float = 1.0,
    seed: int = 0,
) -> None:
    """Fits the head of a classifier to its only optimum; the encoder does not change.

    `seed` draws the prediction head that some families have below the classifier; see `fit_logistic_head` for `l2`.
    """
    from keras_bert.tasks.classification import Classification
    from keras_bert.tasks.multi_label import MultiLabelClassification
    from keras_bert.training.seeds import make_deterministic
    from plugins.few_shot.logistic_head import fit_logistic_head

    make_deterministic(seed)
    description = examples.features()
    rule = f"be rows of {' or '.join(PAIRED_TASKS)}"
    check("fit_head", "examples", description["task"] in PAIRED_TASKS, rule, description["task"])
    weights = find_class_weights(description, description["settings"].get("labels", []), class_weights)
    task = build_task(read_model(encoder), description, HeadSettings(pooling))
    assert isinstance(task, Classification | MultiLabelClassification)
    rows = read_rows(examples, "train")
    texts, seconds = split_texts(rows)
    inputs, targets = task.examples(texts, [row[1] for row in rows], seconds)
    with input_errors("the head cannot be fitted to these rows: "):
        fit_logistic_head(task, inputs, targets, l2=l2, class_weights=weights)
    tune_task(task, examples)
    write_model(model, task, [{"step": 0}], "float32")
