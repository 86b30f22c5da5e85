"""Magnitude pruning of a student, or of a teacher without a student."""

import dataclasses

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.training.model_folder import write_model
from components.training.on_rows import reproducible_scope
from components.training.self_distillation import read_trainable_task, self_distill
from components.training.tuning import tune_task
from keras_bert.options.compression import Distillation, Pruning
from keras_bert.options.training import Training


@component(
    libraries=("keras", "numpy", "tensorflow", "tensorflow-model-optimization", "tensorflow-text"),
    kind="training",
    distributed=True,
)
def prune(
    student: Input[Model],
    examples: Input[TaskExamples],
    pruned: Output[Model],
    pruning: Pruning = Pruning(),
    distillation: Distillation = Distillation(),
    training: Training = Training(epochs=1.0, learning_rate=5e-5),
) -> None:
    """Sets more and more of a model's smallest weights to zero while it trains on the labels and the dense answers.

    The dense model is also the teacher of the pruned one. Its `sparsity.json` makes later trainings keep the zeros.
    """
    from keras_bert.compress.prune import MagnitudePruning, save_sparsity

    with reproducible_scope(training.seed):
        task = read_trainable_task(student)
        network = task.network()
        steps = training.count_steps(examples.features()["counts"]["train"])
        masks = MagnitudePruning(network, pruning, steps)
        history = self_distill(
            student,
            task,
            network,
            examples,
            distillation,
            training,
            variables=masks.variables(),
            after_step=masks.after_step,
        )
        # A running mean of the weights holds values from before the last masks.
        masks.after_step(steps + 1)
    tune_task(task, examples)
    write_model(pruned, task, history, training.precision)
    save_sparsity(dataclasses.asdict(pruning), pruned.path)
    pruned.counts["sparsity"] = round(masks.sparsity(), 4)
