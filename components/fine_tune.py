"""Fine-tuning: a model for the task of the labelled rows, on a pre-trained encoder."""

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.training.model_folder import write_model
from components.training.tuning import ClassWeights, Selection, tune
from keras_bert.config import Pooling, Training


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"))
def fine_tune(
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    model: Output[Model],
    pooling: Pooling = "mean",
    class_weights: ClassWeights = "none",
    training: Training = Training(),
    selection: Selection = Selection(),
) -> None:
    """Trains the whole encoder with a new head on top.

    Args:
        pretrained: a model with an encoder; its heads are dropped.
        examples: labelled rows, made with the same vocabulary; their test split is not read.
        model: for the task of the examples.
        pooling: of a classification or regression, how the states of the tokens become one vector.
        class_weights: how much the rows of each label weigh in the loss, see `find_class_weights`.
        training: how long and how to train.
        selection: which weights to keep.

    Raises:
        InputError: the checkpoint and the examples do not fit, or the task has no such class weights.
    """
    task, history = tune(
        pretrained,
        examples,
        pooling=pooling,
        class_weights=class_weights,
        training=training,
        selection=selection,
        on_progress=report_progress,
    )
    write_model(model, task.model, pretrained, {"task": task.name, **task.settings()}, history)
