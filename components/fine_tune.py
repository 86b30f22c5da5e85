"""Fine-tuning of a pre-trained encoder on labelled rows."""

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors
from components.training.model_folder import FROZEN_HEAD_FILE, read_model, write_model
from components.training.progress import StepMonitor, reproducible_scope
from components.training.tuning import (
    HeadSettings,
    apply_adaptation,
    build_task,
    count_tuning_rows,
    find_class_weights,
    tune_task,
)
from keras_bert.core.folders import ADAPTER_FOLDER
from keras_bert.options.adaptation import Adaptation
from keras_bert.options.compression import Distillation
from keras_bert.options.tables import FineTuningSettings


@component(
    libraries=("keras", "numpy", "scipy", "tensorflow", "tensorflow-text", "threadpoolctl"),
    kind="training",
    distributed=True,
)
def fine_tune(
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    model: Output[Model],
    new_head: HeadSettings = HeadSettings(),
    fine_tuning: FineTuningSettings = FineTuningSettings(),
    adaptation: Adaptation | None = None,
    distillation: Distillation | None = None,
) -> None:
    """Trains an encoder with a head on top, see `build_task`; the same arguments give the same weights.

    If some questions have no answer, the threshold for answering nothing is tuned on the validation split.

    Args:
        pretrained: a model with an encoder.
        examples: labelled rows in the same vocabulary; their test split is not read.
        model: the model for the task of the examples.
        new_head: the settings of the head.
        fine_tuning: how long and how to train, how the head starts, and which weights to keep.
        adaptation: the adapter to train in place of the encoder's weights; None trains all weights. The adapter is
            saved in the folder `adapter`, and is merged into the model's weights if it can be.
        distillation: how a teacher's answers in the examples count; None if the examples have no answers.

    Raises:
        InputError: the checkpoint does not fit the examples, the task has no such class weights, or the encoder does
            not support the adaptation.
    """
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.recipes.fit import fit_task, start_new_head
    from keras_bert.training.new_head import draw_head

    description, rows = examples.features(), RecordRows(examples.path)
    weights = find_class_weights(description, description["settings"].get("labels", []), fine_tuning.class_weights)
    with reproducible_scope(fine_tuning.seed):
        task = build_task(read_model(pretrained), description, new_head)
        with input_errors("fine_tuning: "):
            head = start = start_new_head(task, rows, fine_tuning, weights)
        trained = apply_adaptation(task, adaptation)
        if head is not None and adaptation is not None and adaptation.kind == "prompt":
            # A random prompt changes the vectors that the head was fitted to.
            draw_head(task, fine_tuning.seed)
            start = start_new_head(task, rows, fine_tuning, weights)
        monitor = StepMonitor(examples, fine_tuning.validations, scored_after=count_tuning_rows(task, examples))
        history = fit_task(task, start, rows, fine_tuning, monitor, class_weights=weights, distillation=distillation)
    tune_task(task, examples)
    if task.adapter is not None and task.adapter.merges:
        task.save_adapter(model.file(ADAPTER_FOLDER))
        task.merge_adapter()
    write_model(model, task, history, fine_tuning.precision)
    if head is not None:
        head.save(model.file(FROZEN_HEAD_FILE))
    model.counts |= trained
