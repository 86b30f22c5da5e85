"""Refuses export targets that cannot take the model of a job, before any step starts."""

from components.dsl.errors import InputError, input_errors
from components.sources.checkpoint import TokenizerTraits
from keras_bert.accelerators.registry import find_accelerator
from keras_bert.export.targets.base import ModelTraits
from keras_bert.export.targets.registry import TARGETS
from pipeline.settings.schema import Settings


def check_runtimes(settings: Settings) -> None:
    """Checks task and quantization recipe, without reading a file."""
    traits = _read_task_traits(settings)
    _check_traits(settings, traits)
    for name in settings.export.accelerators if settings.examples is not None else ():
        with input_errors("export.accelerators: "):
            accelerator = find_accelerator(name)
            accelerator.check_recipe(traits.recipe)
        if obstacle := accelerator.find_compiler_obstacle():
            raise InputError(f"export.accelerators: {obstacle}")


def check_models_of_runtimes(settings: Settings) -> None:
    """Checks the tokenizer and the encoder that the job starts with, too."""
    if settings.checkpoint is not None and settings.examples is not None and "tflite" in settings.export.runtimes:
        _check_traits(settings, ModelTraits(copy_obstacle=settings.checkpoint.copy_obstacle()))
    # The tokenizer's other files are read only where they decide.
    if settings.examples is not None and not all(TARGETS[name].takes_any_model for name in settings.export.runtimes):
        _check_traits(settings, _read_model_traits(settings))


def _check_traits(settings: Settings, traits: ModelTraits) -> None:
    runtimes = settings.export.runtimes if settings.examples is not None else ()
    for name in runtimes:
        measured_by = TARGETS[name].measured_by
        if measured_by and measured_by not in runtimes:
            raise InputError(f"export.runtimes must hold {measured_by!r} beside {name!r}, got {list(runtimes)}")
        obstacle = TARGETS[name].find_obstacle(traits)
        if obstacle is not None:
            raise InputError(f"export.runtimes must leave out {name!r} here: {obstacle}")


def _read_task_traits(settings: Settings) -> ModelTraits:
    examples, quantization = settings.examples, settings.quantization
    return ModelTraits(
        task=None if examples is None else examples.task,
        pairs=getattr(examples, "second_text", None) is not None,
        recipe=None if quantization is None else quantization.recipe,
    )


def _read_model_traits(settings: Settings) -> ModelTraits:
    checkpoint, encoder, vocabulary = settings.checkpoint, settings.encoder, settings.vocabulary
    if checkpoint is None:
        traits = TokenizerTraits(vocabulary.kind, vocabulary.lowercase)
        variant: str | None = None if encoder is None or encoder.variant is None else encoder.variant.kind
        segments = None if encoder is None else encoder.num_segments
    else:
        traits = checkpoint.tokenizer_traits()
        family = checkpoint.family()
        variant = None if family is None or family.variant is None else family.variant.kind
        segments = checkpoint.size("num_segments")
    return _read_task_traits(settings)._replace(
        tokenizer=traits.kind,
        lowercase=traits.lowercase,
        variant=getattr(settings.student, "variant", variant),
        has_segments=None if segments is None else segments > 1,
    )
