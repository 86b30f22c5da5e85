"""Models, TaskExamples and Folds -> HeldOutProbabilities: each training row by the model that has not seen it."""

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.examples.registry import TASK_ROWS, read_rows
from components.scoring.registry import TASK_SCORING
from components.training.model_folder import read_model
from keras_bert.core.checks import check
from plugins.label_errors.artifacts import Folds, HeldOutProbabilities, LabelDecisions


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text", "tokenizers"), kind="training")
def score_held_out(
    models: Input[list[Model]],
    examples: Input[TaskExamples],
    folds: Input[Folds],
    probabilities: Output[HeldOutProbabilities],
) -> None:
    """Computes the probabilities of the labels of each training row with the model of its fold.

    There is a model for each fold, trained on the rows of all others. Rows whose label is a teacher's are not judged.
    """
    import numpy as np

    from keras_bert.metrics.calibration import probabilities as softmax

    description, fold_of_row = examples.features(), np.array(folds.read())
    fold_count = int(fold_of_row.max()) + 1
    check("score_held_out", "models", len(models) == fold_count, f"be one for each of {fold_count} folds", len(models))
    task = TASK_ROWS[description["task"]]
    scoring, rows = TASK_SCORING[description["task"]], read_rows(examples, "train")
    numbers = {name: number for number, name in enumerate(scoring.classes(description["settings"]["labels"]))}
    parts = []
    for fold, model in enumerate(models):
        report_progress(fold, len(models), f"scoring fold {fold + 1} of {len(models)}")
        members = np.flatnonzero(fold_of_row == fold)
        result = scoring.logits(read_model(model), [rows[row] for row in members])
        given = np.array([numbers[label] for label in result.truth])
        shares = softmax(result.logits).astype("float32")
        decided = members[result.rows]
        is_own = np.array([task.has_own_label(rows[row]) for row in decided], bool)
        arrays = (decided, result.places, given, shares)
        parts.append(LabelDecisions(*(array[is_own] for array in arrays)))
    decisions = LabelDecisions(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    order = np.lexsort((decisions.places, decisions.rows))
    probabilities.write(LabelDecisions(*(array[order] for array in decisions)))
    probabilities.counts = {"rows": len(rows), "decisions": len(order)}
