"""The graph of a job's models, as far as settings and `config.json` define it, and the rules that depend on it."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from components.dsl.errors import InputError, nearest, table_errors
from keras_bert.core.config import EncoderConfig
from keras_bert.options.compression import StateImitation
from keras_bert.options.pretraining import AT_MOST
from keras_bert.options.quantization import BLOCK_PRODUCTS, undivided_inputs
from pipeline.settings.schema import Settings

_IN_A_BLOCK = re.compile(r"block_(\d+)/(.*)")


class Graph(NamedTuple):
    """The graph of the initial encoder; sizes that are known only after reading its weights are None.

    Attributes:
        width: of queries, keys and values, all heads together.
        is_berts: whether its blocks are BERT's, each with its own weights; False if that is unknown.
    """

    layers: int | None
    heads: int | None
    width: int | None
    is_berts: bool


def graph_of(settings: Settings) -> Graph:
    """Returns the graph of the encoder that fine-tuning starts from."""
    source, encoder = settings.checkpoint, settings.encoder
    if source is not None:
        width = source.size("hidden_size") if source.has_berts_graph() else None
        return Graph(source.num_layers(), source.size("num_heads"), width, source.has_berts_graph())
    assert encoder is not None
    is_berts = encoder.variant is None and not encoder.shared_layers
    return Graph(
        encoder.num_layers,
        encoder.num_heads,
        (encoder.attention_size or encoder.hidden_size) if is_berts else None,
        is_berts,
    )


def check_sizes(settings: Settings) -> None:
    """Checks lengths, layers and imitation by the sizes of the encoder that are known before its weights are read."""
    checkpoint, student, graph = settings.checkpoint, settings.student, graph_of(settings)
    most = checkpoint.size("max_length") if checkpoint else None
    if most is not None and settings.max_length > most:
        raise InputError(f"max_length must be at most {most}, the checkpoint's positions, got {settings.max_length}")
    if student is not None:
        student.check_files(settings)
    layers, heads, width, _ = graph
    if student is not None and layers is not None:
        chosen: Sequence[int] = student.layers or ()
        if any(layer >= layers for layer in chosen):
            raise InputError(f"student.layers must be from 0 to {layers - 1}, the teacher's, got {list(chosen)}")
        if student.num_layers is not None and student.num_layers > layers and student.hidden_size is None:
            raise InputError(f"student.num_layers must be at most {layers}, the teacher's, got {student.num_layers}")
    for name in ("general_distillation", "distillation") if student is not None else ():
        assert student is not None
        imitation: StateImitation | None = getattr(settings, name)
        with table_errors(name):
            if imitation is not None and layers is not None:
                imitation.check_layers(len(student.layers or ()) or student.num_layers or layers, layers)
            if imitation is not None and heads is not None:
                imitation.check_heads(student.num_heads or heads, heads)
            if imitation is not None and heads is not None and width is not None and student.hidden_size is not None:
                imitation.check_widths(student.hidden_size, width, heads)
    for field in AT_MOST if checkpoint is not None and settings.pretraining.objective == "replaced_tokens" else ():
        assert checkpoint is not None
        size, most = getattr(settings.generator, field), checkpoint.size(field)
        if size is not None and most is not None and size > most:
            raise InputError(f"generator.{field} must be at most {most}, the checkpoint's, got {size}")


def check_shapes(settings: Settings) -> None:
    """Checks the shape of a student, and whether the recipe suits it, by the sizes that are known by now."""
    shape, student, quantization = _known_shape(settings), settings.student, settings.quantization
    if shape is None:
        return
    try:
        shape = shape if student is None else student.config(shape, settings.max_length)
    except ValueError as error:
        raise InputError(f"student: {error}") from None
    # Products of `float_layers` have no blocks: `quantize` checks the others.
    if quantization is not None and not quantization.float_layers:
        widths = undivided_inputs(quantization.recipe, shape)
        if widths:
            raise InputError(
                f"quantization.recipe must have blocks that divide all widths of the model, {widths[0]} among them; "
                f"set another recipe or width, got {quantization.recipe!r}"
            )


def _known_shape(settings: Settings) -> EncoderConfig | None:
    """The shape of the initial encoder, for checkpoints without what depends on their family; None if it is unknown."""
    source, encoder = settings.checkpoint, settings.encoder
    sizes: dict[str, Any] = {"vocabulary_size": settings.vocabulary.size, "max_length": settings.max_length}
    if encoder is not None:
        return encoder.encoder_config(**sizes)
    assert source is not None
    read_sizes: dict[str, Any] = {
        name: source.size(name) for name in ("num_layers", "hidden_size", "num_heads", "intermediate_size")
    }
    if None in read_sizes.values():
        return None
    try:
        # Other graphs lose no heads, as those with shared layers.
        return EncoderConfig(**sizes, **read_sizes, shared_layers=not source.has_berts_graph())
    except ValueError as error:
        raise InputError(f"checkpoint: {error}") from None


def check_float_layers(settings: Settings) -> None:
    """Checks the names of layers that do not need a model; `quantize` checks all of them before it trains."""
    if settings.quantization is None:
        return
    graph, student = graph_of(settings), settings.student
    layers = graph.layers
    if student is not None:
        layers = len(student.layers or ()) or student.num_layers or layers
    for name in settings.quantization.float_layers:
        match = _IN_A_BLOCK.fullmatch(name)
        if match is None:
            continue
        if layers is not None and int(match[1]) >= layers:
            rule = f"name blocks of the model that is rounded, 0 to {layers - 1}"
            raise InputError(f"quantization.float_layers must {rule}, got {name!r}")
        if graph.is_berts and match[2] not in BLOCK_PRODUCTS:
            hint = nearest(match[2], BLOCK_PRODUCTS)
            raise InputError(f"quantization.float_layers must name products with weights, got {name!r}{hint}")
