"""The input and output names of transformers, and their translation; without TensorFlow and Keras."""

from collections.abc import Callable, Mapping
from typing import Any

from keras_bert.core.folders import END_LOGITS, LOGITS, SENTENCE_VECTOR, START_LOGITS

# Our name of an input -> transformers' name.
INPUTS = {"token_ids": "input_ids", "padding_mask": "attention_mask", "segment_ids": "token_type_ids"}
OURS = {theirs: ours for ours, theirs in INPUTS.items()}


def our_outputs(outputs: Mapping[str, Any], pair: Callable[[Any, Any], Any]) -> dict[str, Any]:
    """Renames outputs to our names, if they have others; `pair` makes one (batch, length, 2) of two."""
    if START_LOGITS in outputs:
        return {LOGITS: pair(outputs[START_LOGITS], outputs[END_LOGITS])}
    return {"embedding": outputs[SENTENCE_VECTOR]} if SENTENCE_VECTOR in outputs else dict(outputs)
