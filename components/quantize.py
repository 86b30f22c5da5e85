"""Quantization of a student, or of a teacher without a student: quantization-aware or post-training."""

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors
from components.training.model_folder import read_model, write_model
from components.training.progress import StepMonitor, reproducible_scope
from components.training.tuning import count_tuning_rows, tune_task
from keras_bert.options.tables import QuantizationSettings


@component(
    libraries=("keras", "numpy", "tensorflow", "tensorflow-model-optimization", "tensorflow-text"),
    kind="training",
    distributed=True,
)
def quantize(
    student: Input[Model],
    examples: Input[TaskExamples],
    quantized: Output[Model],
    quantization: QuantizationSettings = QuantizationSettings(),
) -> None:
    """Trains a model with quantized weights and activations on the labels and on the float model's answers.

    The float model is also the teacher of the quantized one; pruned weights stay zero. Post-training
    quantization only measures the ranges of training rows. `quantization.json` has the recipe and the ranges
    of the activations.

    Raises:
        InputError: the recipe does not fit the model.
    """
    from keras_bert.data.task_batches import RecordRows
    from keras_bert.recipes.quantize import quantize_task, start_quantization

    rows = RecordRows(examples.path)
    with reproducible_scope(quantization.seed):
        task, float_network = read_model(student), read_model(student).network()
        with input_errors(f"quantization, recipe {quantization.recipe}: "):
            aware = start_quantization(task, rows, quantization)
        monitor = StepMonitor(examples, scored_after=count_tuning_rows(task, examples))
        history = quantize_task(task, aware, float_network, rows, quantization, monitor)
    tune_task(task, examples)
    write_model(quantized, task, history, "float32" if quantization.post_training else quantization.precision)
