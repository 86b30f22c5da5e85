"""Pre-training: masked tokens and, where rows are pairs, next sentences or their order."""

import logging
import math
from typing import TYPE_CHECKING

from components.artifacts import Model, PretrainingExamples, Vocabulary
from components.base import Input, Output, component
from components.model_folder import write_model
from components.task_training import VALIDATIONS, training_folders
from components.training_progress import TrainingProgress
from components.workplace import report_progress
from keras_bert.config import EncoderShape, Training, check

if TYPE_CHECKING:
    from keras_bert.batches import Batches, Phases
    from keras_bert.objectives import Objective

logger = logging.getLogger(__name__)

# exp of more is no float.
_LARGEST = 700.0


@component(libraries=("keras", "numpy", "tensorflow"))
def pretrain(
    examples: Input[PretrainingExamples],
    vocabulary: Input[Vocabulary],
    model: Output[Model],
    encoder: EncoderShape,
    training: Training = Training(learning_rate=1e-4),
    short_steps: float = 0.9,
) -> None:
    """Trains an encoder to predict masked tokens and next sentences; reports perplexity on held-out documents.

    Where the examples have two lengths, the first steps are on the short rows; validation is on the long ones. An epoch
    is as many rows as both lengths have.

    Args:
        examples: what `mask_examples` writes, masked or to be masked anew each epoch.
        vocabulary: the pieces that their ids stand for.
        model: the encoder with its pre-training heads.
        encoder: its shape.
        training: how long and how to train.
        short_steps: share of the steps that are on short rows, if there are any (Devlin et al. 2019, appendix A.2).

    Raises:
        ValueError: `short_steps` is out of range.
    """
    check("pretrain", "short_steps", 0 < short_steps < 1, "be in (0, 1)", short_steps)
    from keras_bert.data import pretraining_batches
    from keras_bert.encoder import build_encoder
    from keras_bert.kernels.pretraining import FusedPretrainingObjective
    from keras_bert.pretraining import PretrainingObjective, build_pretraining
    from keras_bert.records import read_features
    from keras_bert.strategies import find_strategy
    from keras_bert.tokenizer import Tokenizer
    from keras_bert.trainer import VALIDATION_BATCH, Trainer, make_deterministic

    make_deterministic(training.seed)
    strategy = find_strategy()
    features = read_features(examples.path)
    lengths = {entry["max_length"]: entry["counts"] for entry in features["lengths"]}
    config = encoder.encoder_config(Tokenizer.load(vocabulary.path).vocabulary_size, max(lengths))
    has_pairs = features["objective"] != "none"
    steps = training.count_steps(sum(counts["train"] for counts in lengths.values()))
    with strategy.scope():
        network = build_pretraining(build_encoder(config), next_sentence=has_pairs)
    if training.xla == "parts":
        objective: Objective = FusedPretrainingObjective(network, next_sentence=has_pairs)
    else:
        objective = PretrainingObjective(next_sentence=has_pairs)
    trainer = Trainer(network, objective, training, steps, strategy)
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
    write_model(model, network, vocabulary, {"task": "pretraining", "max_length": max(lengths)}, history)


def _batches(examples: PretrainingExamples, training: Training, lengths: list[int], short: int) -> "Batches | Phases":
    """Training batches without end, those of the first `short` steps of short rows, if there are any."""
    from keras_bert.batches import Phases
    from keras_bert.data import pretraining_batches

    first, *rest = (
        pretraining_batches(examples.path, "train", training.part_size, length=length, seed=training.seed, shuffle=True)
        for length in lengths
    )
    return Phases(first, short * training.accumulation, rest[0]) if rest else first
