"""Magnitude pruning of a student, or of a teacher that has none."""

import dataclasses

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.training.model_folder import write_model
from components.training.own_teacher import read_to_change, train_beside_itself
from components.training.tuning import finish
from keras_bert.options.distillation import Distillation
from keras_bert.options.pruning import Pruning
from keras_bert.options.training import Training


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-model-optimization", "tensorflow-text"))
def prune(
    student: Input[Model],
    examples: Input[TaskExamples],
    pruned: Output[Model],
    pruning: Pruning = Pruning(),
    distillation: Distillation = Distillation(),
    training: Training = Training(epochs=1.0, learning_rate=5e-5),
) -> None:
    """Trains a model on while more and more of its smallest weights become zero, and keeps the dense model's answers.

    Args:
        student: a model of any task; it is also the teacher of its own pruned self.
        examples: the labelled rows.
        pruned: the model with its zeros, and `sparsity.json`, for which later trainings keep them.
        pruning: how many weights, and which.
        distillation: temperature and weights of the two losses.
        training: how long and how to train.
    """
    from keras_bert.compress.prune import MagnitudePruning, save_sparsity
    from keras_bert.data.records import read_features
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(training.seed)
    with find_strategy().scope():
        task = read_to_change(student)
        network = task.network()
        steps = training.count_steps(read_features(examples.path)["counts"]["train"])
        masks = MagnitudePruning(network, pruning, steps)
        history = train_beside_itself(
            student,
            task,
            network,
            examples,
            distillation,
            training,
            variables=masks.variables(),
            after_step=masks.after_step,
        )
        # A running mean of the weights holds what came before the last masks.
        masks.after_step(steps + 1)
    finish(task, examples)
    write_model(pruned, task, history, training.precision)
    save_sparsity(dataclasses.asdict(pruning), pruned.path)
    pruned.counts["sparsity"] = round(masks.sparsity(), 4)
