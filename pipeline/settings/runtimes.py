"""Which tasks and models the runtimes of `[export]` know, as far as that can be told before anything starts."""

from components.dsl.errors import InputError
from components.sources.checkpoint import Pieces
from keras_bert.options.export import MEDIAPIPE_TASKS, RuntimeName
from keras_bert.options.quantization import RECIPES
from keras_bert.variants.block_sparse import BlockSparse
from pipeline.settings.schema import Settings

_MEDIAPIPE = "classification of single texts and embedding"
_INTEGERS_ALONE = [name for name, recipe in RECIPES.items() if recipe.activations == "all"]


def check_runtimes(settings: Settings) -> None:
    """Raises InputError where a runtime knows no such task or recipe."""
    examples, quantization = settings.examples, settings.quantization
    if examples is not None and _is_for(settings, "mediapipe"):
        pairs = examples.task == "classification" and getattr(examples, "second_text", None) is not None
        if examples.task not in MEDIAPIPE_TASKS or pairs:
            got = f"{examples.task} of pairs" if pairs else examples.task
            raise _refused("mediapipe", f"which knows {_MEDIAPIPE}, for {got}")
    if quantization is not None and quantization.recipe in _INTEGERS_ALONE and _is_for(settings, "tflite_text"):
        raise _refused("tflite_text", f"which cannot have integers alone, with {quantization.recipe}")


def check_models_of_runtimes(settings: Settings) -> None:
    """Looks at the start: its tokenizer, and the inputs and the graph of its encoder.

    Raises:
        InputError: a runtime knows no such model, or the files of the checkpoint's tokenizer cannot be used.
    """
    if _is_for(settings, "transformers_js"):
        if _variant(settings) is BlockSparse:
            raise _refused(
                "transformers_js", "for block_sparse, of whose choice between two graphs there is no float16"
            )
        answers = settings.examples is not None and settings.examples.task == "question_answering"
        if answers and (_segments(settings) or 0) > 1 and (kind := _pieces(settings).kind) != "wordpiece":
            raise _refused("transformers_js", f"which cannot tell question and context apart, for {kind}")
    if _is_for(settings, "tflite_text") and (kind := _pieces(settings).kind) != "wordpiece":
        raise _refused("tflite_text", f"whose operations cut text into word pieces, for {kind}")
    if _is_for(settings, "mediapipe"):
        kind, lowercase = _pieces(settings)
        if kind != "wordpiece" or not lowercase:
            got = kind if kind != "wordpiece" else "a vocabulary with upper case"
            raise _refused("mediapipe", f"which makes lowercased word pieces, for {got}")
        if (segments := _segments(settings)) is not None and segments < 2:
            raise _refused("mediapipe", "which gives segments, for a model that takes none")


def _is_for(settings: Settings, runtime: RuntimeName) -> bool:
    return settings.examples is not None and runtime in settings.export.runtimes


def _refused(runtime: RuntimeName, why: str) -> InputError:
    return InputError(f"export.runtimes must leave out {runtime!r}, {why}")


def _variant(settings: Settings) -> type | None:
    if settings.checkpoint is not None:
        family = settings.checkpoint.family()
        return None if family is None else family.variant
    return None if settings.encoder is None else type(settings.encoder.variant)


def _pieces(settings: Settings) -> Pieces:
    if settings.checkpoint is not None:
        return settings.checkpoint.pieces()
    return Pieces(settings.vocabulary.kind, settings.vocabulary.lowercase)


def _segments(settings: Settings) -> int | None:
    if settings.checkpoint is not None:
        return settings.checkpoint.size("num_segments")
    return None if settings.encoder is None else settings.encoder.num_segments
