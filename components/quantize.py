"""Quantization-aware training of a student."""

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.training.model_folder import read_model, write_model
from components.training.on_rows import train_on_rows, training_rows
from keras_bert.config import Distillation, Training

# Batches that the activation ranges start from, before the first training step.
CALIBRATION_BATCHES = 16


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-model-optimization"))
def quantize(
    student: Input[Model],
    examples: Input[TaskExamples],
    quantized: Output[Model],
    distillation: Distillation = Distillation(),
    training: Training = Training(epochs=1.0, learning_rate=2e-5),
) -> None:
    """Trains the student on with its weights and activations rounded to int8, and keeps the float student's answers.

    Args:
        student: a float classifier; it is also the teacher of its own rounded self.
        examples: the labelled rows.
        quantized: the classifier with its kernels on int8 grids, and `quantization.json`, the activations' ranges.
        distillation: temperature and weights of the two losses.
        training: how long and how to train.
    """
    from keras_bert.compress.distill import DistillationObjective
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.compress.ranges import save_ranges
    from keras_bert.models.encoder import INPUT_NAMES
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    make_deterministic(training.seed)
    with find_strategy().scope():
        network, task = read_model(student)
        batches = training_rows(examples, training).after(0, stop=CALIBRATION_BATCHES)
        rounded = QuantizationAware(network, [{name: batch[name] for name in INPUT_NAMES} for batch in batches])
        objective = DistillationObjective(read_model(student)[0], distillation)
        history = train_on_rows(network, objective, examples, training, variables=rounded.variables())
    save_ranges(rounded.finish(), quantized.path)
    write_model(quantized, network, student, task, history)
