"""The checkpoint format of Longformer (Beltagy et al. 2020), which is RoBERTa with sliding-window attention."""

from collections.abc import Mapping
from typing import Any

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bert.hugging_face import ROBERTA_HEADS
from keras_bert.families.hugging_face import ENCODER, KEYS, TEXT_HEAD, Family, read_number
from keras_bert.families.longformer.settings import Longformer

_WINDOW = "attention_window"


def _read(content: Mapping[str, Any]) -> Longformer:
    value, layers = content[_WINDOW], content.get("num_hidden_layers")
    if not isinstance(value, list):
        return Longformer(window=read_number(_WINDOW, value, whole=True))
    windows = tuple(read_number(_WINDOW, window, whole=True) for window in value)
    if not windows or len(windows) != layers:
        raise ValueError(f"{_WINDOW} must be a number or list one for each of {layers} layers, got {value!r}")
    return Longformer(windows=windows).of_layers(range(len(windows)))


def _write(config: EncoderConfig) -> dict[str, Any]:
    variant = config.variant
    assert isinstance(variant, Longformer)
    return {_WINDOW: [2 * variant.reach(layer) for layer in range(config.num_layers)]}


FAMILIES = (
    Family(
        name="longformer",
        title="Longformer",
        prefix="longformer.",
        encoder={
            **ENCODER,
            "pooler/dense": "pooler.dense",
            **{
                f"block_{{}}/attention/global_{part}": f"encoder.layer.{{}}.attention.self.{part}_global"
                for part in ("query", "key", "value")
            },
        },
        heads=ROBERTA_HEADS,
        text_head=TEXT_HEAD,
        decoder="lm_head.decoder",
        keys=KEYS,
        fixed={"num_segments": 1, "position_offset": 2},
        # The position of the first token is pad_token_id + 1.
        only={"type_vocab_size": 1, "pad_token_id": 1},
        defaults={
            "attention_probs_dropout_prob": 0.1,
            _WINDOW: 512,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "initializer_range": 0.02,
            "layer_norm_eps": 1e-12,
            "sep_token_id": 2,
        },
        classifier_dropout=dict.fromkeys(("classification", "token_classification"), "hidden_dropout_prob"),
        dropout_before_pooler=True,
        transform_activation="gelu_erf",
        separator=True,
        variant=Longformer,
        read_variant=_read,
        write_variant=_write,
    ),
)
