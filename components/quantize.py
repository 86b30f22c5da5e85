"""Quantization of a student, or of a teacher without a student: quantization-aware or post-training."""

from components.artifacts.standard import Model, TaskExamples
from components.dsl.component import Input, Output, component
from components.dsl.errors import input_errors
from components.training.model_folder import write_model
from components.training.on_rows import reproducible_scope, training_rows
from components.training.self_distillation import read_trainable_task, self_distill
from components.training.tuning import tune_task
from keras_bert.options.compression import Distillation
from keras_bert.options.quantization import Quantization
from keras_bert.options.training import Training


@component(
    libraries=("keras", "numpy", "tensorflow", "tensorflow-model-optimization", "tensorflow-text"),
    kind="training",
    distributed=True,
)
def quantize(
    student: Input[Model],
    examples: Input[TaskExamples],
    quantized: Output[Model],
    quantization: Quantization = Quantization(),
    distillation: Distillation = Distillation(),
    training: Training | None = Training(epochs=1.0, learning_rate=2e-5),
) -> None:
    """Trains a model with quantized weights and activations on the labels and on the float model's answers.

    The float model is also the teacher of the quantized one; pruned weights stay zero. Without a training, the
    quantization is post-training, with the ranges of training rows. `quantization.json` has the recipe and the ranges
    of the activations.

    Raises:
        InputError: the recipe does not fit the model.
    """
    from keras_bert.compress.prune import find_sparsity, save_sparsity
    from keras_bert.compress.quantization_parameters import QuantizationParameters, quantized_activations
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.models.encoder import input_names
    from keras_bert.training.masks import Masks

    plan = training or Training()
    with reproducible_scope(plan.seed):
        task = read_trainable_task(student)
        network = task.network()
        batches = training_rows(examples, plan).first(quantization.calibration_batches)
        names = input_names(network)
        sparsity = find_sparsity(student.path)
        float_layers = (*quantization.float_layers, *task.float_layers)
        with input_errors(f"quantization, recipe {quantization.recipe}: "):
            aware = QuantizationAware(
                network, [{name: batch[name] for name in names} for batch in batches], quantization.recipe, float_layers
            )
        history: list[dict[str, float]] = [{"step": 0}]
        if training is not None:
            history = self_distill(
                student,
                task,
                network,
                examples,
                distillation,
                training,
                variables=aware.variables(),
                after_step=Masks(network).after_step if sparsity else None,
            )
    parameters = QuantizationParameters(quantization.recipe, aware.finish(), float_layers)
    with quantized_activations(network, parameters):
        tune_task(task, examples)
    write_model(quantized, task, history, plan.precision)
    parameters.save(quantized.path)
    if sparsity:
        save_sparsity(sparsity, quantized.path)
