"""Pre-training on masked tokens and sentence pairs, or on replaced tokens."""

import logging
import math

from components.artifacts.standard import Model, PretrainingExamples, Vocabulary
from components.dsl.component import Input, Output, component
from components.dsl.step_folders import report_progress
from components.training.model_folder import write_model
from components.training.pretraining import (
    build_pretraining_task,
    count_short_steps,
    pretraining_objective,
    row_lengths,
    training_batches,
)
from components.training.progress import VALIDATIONS, TrainingProgress, training_folders
from keras_bert.core.config import EncoderShape
from keras_bert.options.pretraining import Generator
from keras_bert.options.training import Training

logger = logging.getLogger(__name__)

# exp of more overflows.
_LARGEST = 700.0


@component(libraries=("keras", "numpy", "tensorflow", "tensorflow-text"), kind="training", distributed=True)
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

    With a generator, which predicts the masked tokens, the encoder detects the tokens that the generator replaced
    (Clark et al. 2020). The perplexity is then the generator's, and only the encoder is kept.

    A pre-trained encoder continues its training (domain adaptation: Beltagy et al. 2019; Lee et al. 2020) with its
    heads. Without fitting heads it gets new ones, whose masked-token weights are the embedding's.

    If the examples have two lengths, the first steps are on short rows; validation is on long rows. An epoch is as many
    rows as both lengths have.

    The rows of `mask_examples` are masked already, or masked again in each epoch. Training continues from `start`, or
    begins with random weights in the shape of `encoder`. `short_steps` is the share of the steps on short rows (Devlin
    et al. 2019, appendix A.2).

    With `span_boundary` masked tokens are also predicted from the boundaries of their spans (Joshi et al. 2020, section
    3.2). This head is not kept: nothing reads it later, and no format has a place for it. With `mask_decoder` DeBERTa's
    decoder, which reads absolute positions, predicts masked tokens (He et al. 2021, section 3.2); a generator has it
    instead of the encoder. It is kept with the head of masked tokens.

    Raises:
        ValueError: neither `start` nor `encoder` is given, or both; or both a generator and span boundaries are given.
        InputError: the model to continue from has fewer positions than the rows, or no pooler for pairs; the rows are
            pairs and there is a generator; span boundaries are given and tokens are not masked in spans; or the
            generator would be larger than the encoder.
    """
    from keras_bert.data.batches import Phases
    from keras_bert.data.pretraining_batches import pretraining_batches
    from keras_bert.models.global_tokens import initialize_global_projections
    from keras_bert.models.replaced_tokens import separate_discriminator
    from keras_bert.training.devices import find_strategy
    from keras_bert.training.seeds import make_deterministic
    from keras_bert.training.step import TrainingStep
    from keras_bert.training.trainer import Trainer, validation_rows

    make_deterministic(training.seed)
    strategy = find_strategy()
    lengths = row_lengths(examples)
    steps = training.count_steps(sum(counts["train"] for counts in lengths.values()))
    with strategy.scope():
        task = build_pretraining_task(examples, vocabulary, start, encoder, generator, mask_decoder)
        trained, objective = pretraining_objective(
            task, examples, training.xla, generator=generator, span_boundary=span_boundary, mask_decoder=mask_decoder
        )
    step = TrainingStep(trained, objective, training, steps, strategy)
    first, *rest = (training_batches(examples, training, length) for length in lengths)
    short = count_short_steps(short_steps, steps) * training.accumulation
    trainer = Trainer(
        step,
        Phases(first, short, rest[0]) if rest else first,
        validation=pretraining_batches(examples.path, "validation", validation_rows(max(lengths))),
        on_progress=TrainingProgress(step, lengths[max(lengths)]["validation"], validations, report_progress),
        validations=validations,
        **training_folders(training),
    )
    history = trainer.fit()
    if generator is not None:
        with strategy.scope():
            separate_discriminator(trained)
    if start is None:
        with strategy.scope():
            initialize_global_projections(task.model)
    for entry in history:
        if "validation_masked_loss" in entry:
            entry["validation_perplexity"] = math.exp(min(entry["validation_masked_loss"], _LARGEST))
            logger.info("step %d: held-out perplexity %.1f", entry["step"], entry["validation_perplexity"])
    write_model(model, task, history, training.precision)
