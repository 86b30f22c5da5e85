"""The task, the objective and the batches of a pre-training, for its training and for the measurement of its steps."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from components.artifacts.standard import Model, PretrainingExamples, Vocabulary
from components.dsl.errors import InputError, input_errors
from components.training.model_folder import read_model
from keras_bert.core.checks import check
from keras_bert.core.config import EncoderShape
from keras_bert.options.pretraining import Generator
from keras_bert.options.training import Training, Xla

if TYPE_CHECKING:
    import keras

    from keras_bert.data.batches import Batches
    from keras_bert.objectives.base import Objective
    from keras_bert.tasks.base import Task


def row_lengths(examples: PretrainingExamples) -> dict[int, Mapping[str, int]]:
    """Length that rows are padded to -> split -> number of rows, lengths ascending."""
    entries = examples.features()["lengths"]
    return {entry["max_length"]: entry["counts"] for entry in sorted(entries, key=lambda entry: entry["max_length"])}


def count_short_steps(share: float, steps: int) -> int:
    """Returns the number of steps on short rows, which come first."""
    return round(share * steps)


def build_pretraining_task(
    examples: PretrainingExamples,
    vocabulary: Vocabulary,
    start: Model | None,
    encoder: EncoderShape | None,
    generator: Generator | None = None,
    mask_decoder: bool = False,
) -> "Task":
    """Builds the encoder with the heads that are kept; must be called in the scope of the training's strategy.

    `start` is the model to continue from; None for random weights in the shape of `encoder`. With `mask_decoder`
    DeBERTa's decoder predicts masked tokens, for the generator if there is one.
    """
    check("pretrain", "encoder", (start is None) != (encoder is None), "be set if there is no start", encoder)
    from keras_bert.models.encoder import build_encoder
    from keras_bert.tasks.pretraining import Pretraining
    from keras_bert.tasks.replaced_tokens import ReplacedTokens
    from keras_bert.tokenizers.loading import load_tokenizer

    length, objective = max(row_lengths(examples)), examples.features()["objective"]
    has_pairs = objective != "none"
    if generator is not None and has_pairs:
        rule = "have objective='none' if there is a generator, which learns nothing from pairs"
        raise InputError(f"rows must {rule}, got {objective!r}")
    kind: type[Task] = Pretraining if generator is None else ReplacedTokens
    head = {"next_sentence": has_pairs, "mask_decoder": mask_decoder} if generator is None else {}
    if start is None:
        assert encoder is not None
        tokenizer = load_tokenizer(vocabulary.path)
        blank = build_encoder(encoder.encoder_config(tokenizer.vocabulary_size, length))
        return kind.build(blank, tokenizer, max_length=length, **head)
    task = read_model(start)
    if isinstance(task, kind) and task.head() == head:
        return task
    with input_errors("the checkpoint cannot continue pre-training on these rows: "):
        return kind.build(task.encoder, task.tokenizer, max_length=length, **head)


def pretraining_objective(
    task: "Task",
    examples: PretrainingExamples,
    xla: Xla,
    *,
    generator: Generator | None = None,
    span_boundary: bool = False,
    mask_decoder: bool = False,
) -> "tuple[keras.Model, Objective]":
    """The model to train, with parts that are dropped afterwards, and its objective."""
    rule = "be False if there is a generator"
    check("pretrain", "span_boundary", not (span_boundary and generator), rule, span_boundary)
    from keras_bert.fused.pretraining import FusedPretrainingObjective, FusedReplacedTokensObjective
    from keras_bert.models.pretraining import add_span_boundary
    from keras_bert.models.replaced_tokens import build_joint
    from keras_bert.objectives.pretraining import PretrainingObjective, ReplacedTokensObjective

    model, is_fused = task.model, xla == "parts"
    if generator is not None:
        with input_errors("the encoder cannot have this generator: "):
            joint = build_joint(model, generator, mask_decoder=mask_decoder)
        return joint, FusedReplacedTokensObjective(joint, generator) if is_fused else ReplacedTokensObjective(generator)
    if span_boundary:
        strategies = {entry["masking"]["strategy"] for entry in examples.features()["lengths"]}
        if strategies != {"spans"}:
            raise InputError(f"rows must be masked with strategy='spans' for span boundaries, got {sorted(strategies)}")
        model = add_span_boundary(model)
    heads = {"next_sentence": examples.features()["objective"] != "none", "span_boundary": span_boundary}
    return model, FusedPretrainingObjective(model, **heads) if is_fused else PretrainingObjective(**heads)


def training_batches(examples: PretrainingExamples, training: Training, length: int) -> "Batches":
    """Shuffled batches of the training rows of one length, without end."""
    from keras_bert.data.pretraining_batches import pretraining_batches

    return pretraining_batches(
        examples.path, "train", training.micro_batch_size, length=length, seed=training.seed, shuffle=True
    )
