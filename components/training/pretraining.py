"""What pre-training trains, and on which batches: what the training and the measurement of its steps share."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.artifacts.model import Model
from components.artifacts.pretraining_examples import PretrainingExamples
from components.artifacts.vocabulary import Vocabulary
from components.dsl.errors import InputError
from components.training.model_folder import read_model
from keras_bert.checks import check
from keras_bert.config import EncoderShape
from keras_bert.options.training import Training, Xla

if TYPE_CHECKING:
    from keras_bert.data.batches import Batches
    from keras_bert.objectives.base import Objective
    from keras_bert.tasks.base import Task


def row_lengths(examples: PretrainingExamples) -> dict[int, Mapping[str, int]]:
    """The lengths that rows are padded to, ascending, each with how many rows of it its splits have."""
    from keras_bert.data.records import read_features

    entries = read_features(examples.path)["lengths"]
    return {entry["max_length"]: entry["counts"] for entry in sorted(entries, key=lambda entry: entry["max_length"])}


def build_pretraining_task(
    examples: PretrainingExamples, vocabulary: Vocabulary, start: Model | None, encoder: EncoderShape | None
) -> "Task":
    """The encoder with the heads to train; call it in the scope of the strategy to train under.

    Args:
        examples: what it is to learn from.
        vocabulary: of the examples.
        start: what to go on from, None for random weights.
        encoder: the shape of an encoder that begins with random weights.

    Raises:
        ValueError: there is neither `start` nor `encoder`, or both.
        InputError: what to go on from has fewer positions than the rows, or no pooler for pairs.
    """
    check("pretrain", "encoder", (start is None) != (encoder is None), "be set where there is no start", encoder)
    from keras_bert.models.encoder import build_encoder, has_layer
    from keras_bert.tasks.pretraining import Pretraining
    from keras_bert.tokenizers.loading import load_tokenizer

    length, has_pairs = max(row_lengths(examples)), _has_pairs(examples)
    if start is None:
        assert encoder is not None
        tokenizer = load_tokenizer(vocabulary.path)
        blank = build_encoder(encoder.encoder_config(tokenizer.vocabulary_size, length))
        return Pretraining.build(blank, tokenizer, max_length=length, next_sentence=has_pairs)
    task = read_model(start)
    if isinstance(task, Pretraining) and has_layer(task.model, "next_sentence") == has_pairs:
        return task
    try:
        return Pretraining.build(task.encoder, task.tokenizer, max_length=length, next_sentence=has_pairs)
    except ValueError as error:
        raise InputError(f"the checkpoint cannot go on pre-training on these rows: {error}") from None


def pretraining_objective(task: "Task", examples: PretrainingExamples, xla: Xla) -> "Objective":
    """What is minimized on the examples."""
    from keras_bert.fused.pretraining import FusedPretrainingObjective
    from keras_bert.objectives.pretraining import PretrainingObjective

    has_pairs = _has_pairs(examples)
    if xla == "parts":
        return FusedPretrainingObjective(task.model, next_sentence=has_pairs)
    return PretrainingObjective(next_sentence=has_pairs)


def training_batches(examples: PretrainingExamples, training: Training, length: int) -> "Batches":
    """Shuffled batches of the training rows of one length, without end."""
    from keras_bert.data.pretraining_batches import pretraining_batches

    return pretraining_batches(
        examples.path, "train", training.part_size, length=length, seed=training.seed, shuffle=True
    )


def _has_pairs(examples: PretrainingExamples) -> bool:
    from keras_bert.data.records import read_features

    return bool(read_features(examples.path)["objective"] != "none")
