"""Fine-tuning: a model for the task of the labelled rows, on a pre-trained encoder."""

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.training.model_folder import read_model, write_model
from components.training.on_rows import train_on_rows
from components.training.tuning import ClassWeights, adapt, build_task, find_class_weights, finish, rows_to_finish
from keras_bert.folders import ADAPTER_FOLDER
from keras_bert.options.adaptation import Adaptation
from keras_bert.options.pooling import Pooling
from keras_bert.options.selection import Selection
from keras_bert.options.training import Training


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"))
def fine_tune(
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    model: Output[Model],
    pooling: Pooling = "mean",
    class_weights: ClassWeights = "none",
    training: Training = Training(),
    selection: Selection = Selection(),
    adaptation: Adaptation | None = None,
) -> None:
    """Trains an encoder with a new head on top; the same arguments give the same weights.

    Where some questions have no answer, when to give none is found on the validation split, too.

    Args:
        pretrained: a model with an encoder; its heads are dropped.
        examples: labelled rows, made with the same vocabulary; their test split is not read.
        model: for the task of the examples.
        pooling: of a task with one vector for the whole text, how the states of the tokens become that.
        class_weights: how much the rows of each label weigh in the loss, see `find_class_weights`.
        training: how long and how to train.
        selection: which weights to keep.
        adaptation: which few weights are to learn beside the encoder's own; None trains all of these. They stand alone
            in the folder `adapter`, and in the model's own weights where these can say the same.

    Raises:
        InputError: the checkpoint and the examples do not fit, the task has no such class weights, or the encoder no
            place for the adaptation.
    """
    from keras_bert.data.records import read_features
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(training.seed)
    description = read_features(examples.path)
    weights = find_class_weights(description, description["settings"].get("labels", []), class_weights)
    with find_strategy().scope():
        start = read_model(pretrained)
        task = build_task(start.encoder, start.tokenizer, description, pooling)
        trained = adapt(task, adaptation)
        history = train_on_rows(
            task.network(),
            task.objective(weights),
            examples,
            training,
            select=task.selected_by if selection.keep == "best" else None,
            patience=selection.patience,
            validations=selection.validations,
            scored_after=rows_to_finish(task, examples),
        )
    finish(task, examples)
    if task.adapter is not None and task.adapter.merges:
        task.save_adapter(model.file(ADAPTER_FOLDER))
        task.merge_adapter()
    write_model(model, task, history, training.precision)
    model.counts |= trained
