"""Pre-training: masked tokens and what goes with them, or replaced tokens."""

import logging
import math

from components.artifacts.model import Model
from components.artifacts.pretraining_examples import PretrainingExamples
from components.artifacts.vocabulary import Vocabulary
from components.dsl.component import component
from components.dsl.signature import Input, Output
from components.dsl.workplace import report_progress
from components.training.costs import count_short_steps
from components.training.model_folder import write_model
from components.training.on_rows import VALIDATIONS, training_folders
from components.training.pretraining import (
    build_pretraining_task,
    pretraining_objective,
    row_lengths,
    training_batches,
)
from components.training.progress import TrainingProgress
from keras_bert.checks import check
from keras_bert.config import EncoderShape
from keras_bert.options.generator import Generator
from keras_bert.options.training import Training

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
    validations: int = VALIDATIONS,
    generator: Generator | None = None,
    span_boundary: bool = False,
    mask_decoder: bool = False,
) -> None:
    """Trains an encoder to predict masked tokens and next sentences; reports perplexity on held-out documents.

    With a generator, which predicts them in its place, the encoder tells the generator's guesses from the text's own
    tokens (Clark et al. 2020); the perplexity is the generator's then, and only the encoder is kept.

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
        validations: on held-out rows, evenly spread over the training.
        generator: what replaces tokens, where the encoder is to find those; it begins with random weights. None for an
            encoder that predicts masked tokens itself.
        span_boundary: whether masked tokens are also predicted from the borders of their spans (Joshi et al. 2020,
            section 3.2). That head is not kept: nothing reads it later, and no format has a place for it.
        mask_decoder: whether masked tokens are predicted by DeBERTa's decoder, which is told absolute positions (He et
            al. 2021, section 3.2); of a generator's it is. It is kept with the head of masked tokens.

    Raises:
        ValueError: `short_steps` is out of range, there is neither `start` nor `encoder`, or both, or both a generator
            and span boundaries.
        InputError: what to go on from has fewer positions than the rows, or no pooler for pairs; the rows are pairs
            where there is a generator, or their tokens are not hidden in spans where there are span boundaries; the
            generator would be larger than the encoder.
    """
    check("pretrain", "short_steps", 0 < short_steps < 1, "be in (0, 1)", short_steps)
    from keras_bert.data.batches import Phases
    from keras_bert.data.pretraining_batches import pretraining_batches
    from keras_bert.models.replaced_tokens import settle
    from keras_bert.training.strategies import find_strategy
    from keras_bert.training.trainer import VALIDATION_BATCH, Trainer, make_deterministic

    make_deterministic(training.seed)
    strategy = find_strategy()
    lengths = row_lengths(examples)
    steps = training.count_steps(sum(counts["train"] for counts in lengths.values()))
    with strategy.scope():
        task = build_pretraining_task(examples, vocabulary, start, encoder, generator, mask_decoder)
        trained, objective = pretraining_objective(
            task,
            examples,
            training.xla,
            generator=generator,
            span_boundary=span_boundary,
            mask_decoder=mask_decoder,
        )
    trainer = Trainer(trained, objective, training, steps, strategy)
    first, *rest = (training_batches(examples, training, length) for length in lengths)
    short = count_short_steps(short_steps, steps) * training.accumulation
    history = trainer.fit(
        Phases(first, short, rest[0]) if rest else first,
        validation=pretraining_batches(examples.path, "validation", VALIDATION_BATCH),
        on_progress=TrainingProgress(trainer, lengths[max(lengths)]["validation"], validations, report_progress),
        validations=validations,
        **training_folders(training),
    )
    if generator is not None:
        with strategy.scope():
            settle(trained)
    for entry in history:
        if "validation_masked_loss" in entry:
            entry["validation_perplexity"] = math.exp(min(entry["validation_masked_loss"], _LARGEST))
            logger.info("step %d: held-out perplexity %.1f", entry["step"], entry["validation_perplexity"])
    write_model(model, task, history, training.precision)
