"""Magnitude pruning of a student, or of a teacher without a student."""

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.training.model_folder import read_model, write_model
from components.training.progress import StepMonitor, reproducible_scope
from components.training.tuning import count_tuning_rows, tune_task
from keras_bert.options.tables import PruningSettings


@component(
    libraries=("keras", "numpy", "tensorflow", "tensorflow-model-optimization", "tensorflow-text"),
    kind="training",
    distributed=True,
)
def prune(
    student: Input[Model],
    examples: Input[TaskExamples],
    pruned: Output[Model],
    pruning: PruningSettings = PruningSettings(),
) -> None:
    """Sets more and more of a model's smallest weights to zero while it trains on the labels and the dense answers.

    The dense model is also the teacher of the pruned one. Later trainings keep the zeros.
    """
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.recipes.prune import prune_task

    with reproducible_scope(pruning.seed):
        task, dense = read_model(student), read_model(student).network()
        monitor = StepMonitor(examples, scored_after=count_tuning_rows(task, examples))
        history, sparsity = prune_task(task, dense, RecordRows(examples.path), pruning, monitor)
    tune_task(task, examples)
    write_model(pruned, task, history, pruning.precision)
    pruned.counts["sparsity"] = round(sparsity, 4)
