"""Rounding of a student, or of a teacher that has none, with a training for it or without."""

from components.artifacts.model import Model
from components.artifacts.task_examples import TaskExamples
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.training.model_folder import write_model
from components.training.on_rows import training_rows
from components.training.own_teacher import read_to_change, train_beside_itself
from components.training.tuning import finish
from keras_bert.options.distillation import Distillation
from keras_bert.options.quantization import Quantization
from keras_bert.options.training import Training


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-model-optimization", "tensorflow-text"))
def quantize(
    student: Input[Model],
    examples: Input[TaskExamples],
    quantized: Output[Model],
    quantization: Quantization = Quantization(),
    distillation: Distillation = Distillation(),
    training: Training | None = Training(epochs=1.0, learning_rate=2e-5),
) -> None:
    """Trains a model on with its weights and activations rounded, and keeps the float model's answers.

    Args:
        student: a float model of any task; it is also the teacher of its own rounded self. Pruned weights stay zero.
        examples: the labelled rows.
        quantized: the model with its kernels on grids, and `quantization.json`, the recipe and the activations' ranges.
        quantization: what is rounded, and how.
        distillation: temperature and weights of the two losses.
        training: how long and how to train; None to round the model as it is, with ranges of training rows.

    Raises:
        InputError: the recipe does not go with the model.
    """
    from keras_bert.compress.prune import Masks, find_sparsity, save_sparsity
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.compress.rounding import Rounding, rounded, save_rounding
    from keras_bert.models.encoder import input_names
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import make_deterministic

    plan = training or Training()
    make_deterministic(plan.seed)
    with find_strategy().scope():
        task = read_to_change(student)
        network = task.network()
        batches = training_rows(examples, plan).after(0, stop=quantization.calibration_batches)
        names = input_names(network)
        sparsity = find_sparsity(student.path)
        try:
            aware = QuantizationAware(
                network,
                [{name: batch[name] for name in names} for batch in batches],
                quantization.recipe,
                quantization.float_layers,
            )
        except ValueError as error:
            raise InputError(f"quantization, recipe {quantization.recipe}: {error}") from None
        history: list[dict[str, float]] = [{"step": 0}]
        if training is not None:
            history = train_beside_itself(
                student,
                task,
                network,
                examples,
                distillation,
                training,
                variables=aware.variables(),
                after_step=Masks(network).after_step if sparsity else None,
            )
    rounding = Rounding(quantization.recipe, aware.finish(), quantization.float_layers)
    with rounded(network, rounding):
        finish(task, examples)
    write_model(quantized, task, history, plan.precision)
    save_rounding(rounding, quantized.path)
    if sparsity:
        save_sparsity(sparsity, quantized.path)
