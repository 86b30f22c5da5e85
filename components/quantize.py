"""Quantization-aware training of a student, or of a teacher that has none."""

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.training.model_folder import read_model, write_model
from components.training.on_rows import train_on_rows, training_rows
from components.training.tuning import finish, rows_to_finish
from keras_bert.options.distillation import Distillation
from keras_bert.options.training import Training

# Batches that the activation ranges start from, before the first training step.
CALIBRATION_BATCHES = 16


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-model-optimization", "tensorflow-text"))
def quantize(
    student: Input[Model],
    examples: Input[TaskExamples],
    quantized: Output[Model],
    distillation: Distillation = Distillation(),
    training: Training = Training(epochs=1.0, learning_rate=2e-5),
) -> None:
    """Trains a model on with its weights and activations rounded to int8, and keeps the float model's answers.

    Args:
        student: a float model of any task; it is also the teacher of its own rounded self.
        examples: the labelled rows.
        quantized: the model with its kernels on int8 grids, and `quantization.json`, the activations' ranges.
        distillation: temperature and weights of the two losses.
        training: how long and how to train.
    """
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.compress.ranges import fixed_ranges, save_ranges
    from keras_bert.models.encoder import input_names
    from keras_bert.objectives.distillation import DistillationObjective
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(training.seed)
    with find_strategy().scope():
        task = read_model(student)
        if task.adapter is not None:
            task.adapter.thaw()
        network = task.network()
        batches = training_rows(examples, training).after(0, stop=CALIBRATION_BATCHES)
        names = input_names(network)
        rounded = QuantizationAware(network, [{name: batch[name] for name in names} for batch in batches])
        objective = DistillationObjective(task.objective(), read_model(student).network(), distillation)
        history = train_on_rows(
            network,
            objective,
            examples,
            training,
            scored_after=rows_to_finish(task, examples),
            variables=rounded.variables(),
        )
    ranges = rounded.finish()
    with fixed_ranges(network, ranges):
        finish(task, examples)
    write_model(quantized, task, history, training.precision)
    save_ranges(ranges, quantized.path)
