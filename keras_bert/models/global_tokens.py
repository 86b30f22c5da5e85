"""Which tokens of a text are global, by what stands on the encoder: the one place where heads say so."""

import keras

from keras_bert.layers.global_tokens import GlobalKind, GlobalTokens
from keras_bert.models.encoder import blocks_of, has_layer
from keras_bert.models.graphs.sliding_window import GLOBAL_TOKENS

# Pieces of a question and the token in front of them, where nobody says how long it may be: 64 in `run_squad.py`.
QUESTION_TOKENS = 65


def with_global_tokens(
    encoder: keras.Model, kind: GlobalKind, *, most: int = 1, separator: int | None = None
) -> keras.Model:
    """The encoder with other global tokens, as the head that comes upon it needs them.

    As in transformers: the first token for classes and numbers, the question for answers, else none. An encoder
    without global tokens stays as it is.

    Args:
        encoder: what `build_encoder` returns; its layers are called anew, with the weights that they have.
        kind: see `GlobalTokens`, as are the next two.
        most: see there.
        separator: see there.

    Raises:
        ValueError: a question has no separator.
    """
    held = global_tokens_of(encoder)
    if held is None or held.kind == kind == "none":
        return encoder
    chosen = GlobalTokens(kind, most, separator, name=GLOBAL_TOKENS)
    # What `keras.models.clone_model` does, but with the layers themselves.
    outputs = encoder._run_through_graph(
        encoder.inputs, operation_fn=lambda layer: chosen if layer.name == GLOBAL_TOKENS else layer
    )
    return keras.Model(encoder.input, outputs, name=encoder.name)


def global_tokens_of(model: keras.Model) -> GlobalTokens | None:
    """The layer that says which tokens are global, None where the graph has none."""
    return model.get_layer(GLOBAL_TOKENS) if has_layer(model, GLOBAL_TOKENS) else None


def start_global_projections(model: keras.Model) -> None:
    """Gives global tokens the projections that all others have (Beltagy et al. 2020, section 3.1: so they begin).

    For an encoder that has just been trained on masked tokens, where no token is global: its own have learnt nothing.
    """
    if global_tokens_of(model) is None:
        return
    for block in blocks_of(model):
        attention = block.attention
        for part in ("query", "key", "value"):
            getattr(attention, f"global_{part}").kernel.assign(getattr(attention, part).kernel)
            getattr(attention, f"global_{part}").bias.assign(getattr(attention, part).bias)
