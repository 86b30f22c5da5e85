"""Sets the global tokens of a Longformer for the head of a task."""

import keras

from keras_bert.families.longformer.layers import GLOBAL_TOKENS, GlobalKind, GlobalTokens
from keras_bert.models.encoder import blocks_of, has_layer


def with_global_tokens(
    encoder: keras.Model, kind: GlobalKind, *, most: int = 1, separator: int | None = None
) -> keras.Model:
    """Sets the kind of global tokens of a Longformer; encoders of other families are returned unchanged.

    As in transformers, the first token is global for classification and regression, the question for question
    answering, and no token for other tasks.

    The result shares the layers of the encoder; for the other arguments see `GlobalTokens`.
    """
    present = global_tokens_of(encoder)
    if present is None or present.kind == kind == "none":
        return encoder
    replacement = GlobalTokens(kind, most, separator, name=GLOBAL_TOKENS)
    # As `keras.models.clone_model`, but the layers are shared.
    outputs = encoder._run_through_graph(
        encoder.inputs, operation_fn=lambda layer: replacement if layer.name == GLOBAL_TOKENS else layer
    )
    return keras.Model(encoder.input, outputs, name=encoder.name)


def global_tokens_of(model: keras.Model) -> GlobalTokens | None:
    """The layer of a Longformer that marks global tokens; None for models of other families."""
    return model.get_layer(GLOBAL_TOKENS) if has_layer(model, GLOBAL_TOKENS) else None


def initialize_global_projections(model: keras.Model) -> None:
    """Initializes the projections of global tokens with those of other tokens (Beltagy et al. 2020, section 3.1).

    Call it after masked-token pre-training, in which no token is global, so that these projections are not trained.
    """
    if global_tokens_of(model) is None:
        return
    for block in blocks_of(model):
        attention = block.attention
        for part in ("query", "key", "value"):
            getattr(attention, f"global_{part}").kernel.assign(getattr(attention, part).kernel)
            getattr(attention, f"global_{part}").bias.assign(getattr(attention, part).bias)
