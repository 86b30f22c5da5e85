"""Fine-tuning: a classifier on a pre-trained encoder."""

from components.artifacts import Model, TaskExamples
from components.base import Input, Output, component
from components.model_folder import read_model, write_model
from components.task_training import train_on_rows
from keras_bert.config import Pooling, Training


@component(libraries=("keras", "numpy", "tensorflow"))
def fine_tune(
    pretrained: Input[Model],
    examples: Input[TaskExamples],
    model: Output[Model],
    pooling: Pooling = "mean",
    training: Training = Training(),
) -> None:
    """Trains the whole encoder with a new classifier on top.

    Args:
        pretrained: a model with an encoder; its heads are dropped.
        examples: labelled rows, made with the same vocabulary.
        model: the classifier.
        pooling: how the states of the tokens become one vector, see `build_classifier`.
        training: how long and how to train.
    """
    from keras_bert.encoder import encoder_of
    from keras_bert.records import read_features, read_labels
    from keras_bert.tasks.classification import build_classifier, classification_objective
    from keras_bert.trainer import make_deterministic

    make_deterministic(training.seed)
    labels = read_labels(examples.path)
    network = build_classifier(encoder_of(read_model(pretrained)[0]), len(labels), pooling=pooling)
    history = train_on_rows(network, classification_objective, examples, training)
    max_length = read_features(examples.path)["max_length"]
    task = {"task": "classification", "labels": labels, "max_length": max_length}
    write_model(model, network, pretrained, task, history)
