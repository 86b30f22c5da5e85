"""Pre-training: masked tokens and, where rows are pairs, next sentences or their order."""

import logging
import math
from typing import TYPE_CHECKING

from components.artifacts.model import Model
from components.artifacts.pretraining_examples import PretrainingExamples
from components.artifacts.vocabulary import Vocabulary
from components.dsl.component import component
from components.dsl.errors import InputError
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.training.model_folder import read_model, write_model
from components.training.on_rows import VALIDATIONS, training_folders
from components.training.progress import TrainingProgress
from keras_bert.checks import check
from keras_bert.config import EncoderShape
from keras_bert.options.training import Training

if TYPE_CHECKING:
    from keras_bert.data.batches import Batches, Phases
    from keras_bert.objectives.base import Objective
    from keras_bert.tasks.base import Task

logger = logging.getLogger(__name__)

# exp of more is no float.
_LARGEST = 700.0


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"))
def pretrain(
    examples: Input[PretrainingExamples],
    vocabulary: Input[Vocabulary],
    model: Output[Model],
    start: Input[Model] | None = None,
    encoder: EncoderShape | None = None,
    training: Training = Training(learning_rate=1e-4),
    short_steps: float = 0.9,
) -> None:
    """Trains an encoder to predict masked tokens and next sentences; reports perplexity on held-out documents.

    An encoder that was trained before goes on from there (domain adaptation: Beltagy et al. 2019; Lee et al. 2020),
    with the heads that it brings, else with new ones whose masked-token weights are the embedding's.

    Where the examples have two lengths, the first steps are on the short rows; validation is on the long ones. An epoch
    is as many rows as both lengths have.

    Args:
        examples: what `mask_examples` writes, masked or to be masked anew each epoch.
        vocabulary: the pieces that their ids stand for.
        model: the encoder with its pre-training heads.
        start: what to go on from; its vocabulary is that of the examples. None begins with random weights.
        encoder: the shape of an encoder that begins with random weights.
        training: how long and how to train.
        short_steps: share of the steps that are on short rows, if there are any (Devlin et al. 2019, appendix A.2).

    Raises:
        ValueError: `short_steps` is out of range, or there is neither `start` nor `encoder`, or both.
        InputError: what to go on from has fewer positions than the rows, or no pooler for pairs.
    """
    check("pretrain", "short_steps", 0 < short_steps < 1, "be in (0, 1)", short_steps)
    check("pretrain", "encoder", (start is None) != (encoder is None), "be set where there is no start", encoder)
    from keras_bert.data.pretraining_batches import pretraining_batches
    from keras_bert.data.records import read_features
    from keras_bert.fused.pretraining import FusedPretrainingObjective
    from keras_bert.objectives.pretraining import PretrainingObjective
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import VALIDATION_BATCH, Trainer, make_deterministic

    make_deterministic(training.seed)
    strategy = find_strategy()
    features = read_features(examples.path)
    lengths = {entry["max_length"]: entry["counts"] for entry in features["lengths"]}
    has_pairs = features["objective"] != "none"
    steps = training.count_steps(sum(counts["train"] for counts in lengths.values()))
    with strategy.scope():
        task = _build(vocabulary, start, encoder, max(lengths), has_pairs)
    objective: Objective = PretrainingObjective(next_sentence=has_pairs)
    if training.xla == "parts":
        objective = FusedPretrainingObjective(task.model, next_sentence=has_pairs)
    trainer = Trainer(task.model, objective, training, steps, strategy)
    history = trainer.fit(
        _batches(examples, training, sorted(lengths), round(short_steps * steps)),
        validation=pretraining_batches(examples.path, "validation", VALIDATION_BATCH),
        on_progress=TrainingProgress(trainer, lengths[max(lengths)]["validation"], VALIDATIONS, report_progress),
        validations=VALIDATIONS,
        **training_folders(training),
    )
    for entry in history:
        if "validation_masked_loss" in entry:
            entry["validation_perplexity"] = math.exp(min(entry["validation_masked_loss"], _LARGEST))
            logger.info("step %d: held-out perplexity %.1f", entry["step"], entry["validation_perplexity"])
    write_model(model, task, history, training.precision)


def _build(
    vocabulary: Vocabulary, start: Model | None, encoder: EncoderShape | None, length: int, has_pairs: bool
) -> "Task":
    """The encoder with the heads to train."""
    from keras_bert.models.encoder import build_encoder, has_layer
    from keras_bert.tasks.pretraining import Pretraining
    from keras_bert.tokenizers.loading import load_tokenizer

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


def _batches(examples: PretrainingExamples, training: Training, lengths: list[int], short: int) -> "Batches | Phases":
    """Training batches without end, those of the first `short` steps of short rows, if there are any."""
    from keras_bert.data.batches import Phases
    from keras_bert.data.pretraining_batches import pretraining_batches

    first, *rest = (
        pretraining_batches(examples.path, "train", training.part_size, length=length, seed=training.seed, shuffle=True)
        for length in lengths
    )
    return Phases(first, short * training.accumulation, rest[0]) if rest else first
