"""The configurations of released checkpoints, by their names.

Sources: the papers in the comments, and the `config.json` or the README of the checkpoints.
"""

from typing import Any

from keras_bert.core.checks import check
from keras_bert.core.config import EncoderConfig
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.settings import MPNet

# Turc et al. 2019, "Well-Read Students Learn Better", table 1: layers, hidden size; one head for every 64 units.
_SHAPES = {
    "tiny": (2, 128),
    "mini": (4, 256),
    "small": (4, 512),
    "medium": (8, 512),
    "base": (12, 768),
    "large": (24, 1024),
}

PRESETS: dict[str, dict[str, Any]] = {
    name: {"num_layers": layers, "hidden_size": hidden, "num_heads": hidden // 64, "intermediate_size": 4 * hidden}
    for name, (layers, hidden) in _SHAPES.items()
}

# Rows of the token embedding of the released checkpoints (google-research/bert, README.md).
VOCABULARY_SIZES = {"uncased": 30522, "cased": 28996, "multilingual": 119547, "chinese": 21128}


def _shape(layers: int, hidden: int, heads: int, vocabulary: int, **further: Any) -> dict[str, Any]:
    sizes = {"num_layers": layers, "hidden_size": hidden, "num_heads": heads, "intermediate_size": 4 * hidden}
    return {**sizes, "vocabulary_size": vocabulary, "activation": "gelu_erf", **further}


# As in fairseq: the position of the first token is pad_token_id + 1, and there is one segment.
_ROBERTA = {"num_segments": 1, "position_offset": 2, "layer_norm_epsilon": 1e-5}
_MPNET = {"num_segments": 0, "position_offset": 2, "layer_norm_epsilon": 1e-5, "variant": MPNet()}
_DISTILBERT = {"num_segments": 0, "pooler_activation": "relu"}
_ELECTRA = {"pooler_activation": "gelu_erf"}
_ALBERT = {"embedding_size": 128, "shared_layers": True, "activation": "gelu_tanh"}
_DEBERTA = {"num_segments": 0, "layer_norm_epsilon": 1e-7, "pooler_activation": "gelu_erf"}
_FIRST = DeBERTa(position_buckets=0, shared_projections=False, normalized_positions=False, key_bias=False)
_DEBERTA_1 = {**_DEBERTA, "variant": _FIRST}
_DEBERTA_2 = {**_DEBERTA, "variant": DeBERTa(convolution=3)}
_DEBERTA_3 = {**_DEBERTA, "variant": DeBERTa()}
_LONGFORMER = {**_ROBERTA, "max_length": 4096, "variant": Longformer()}
_BIGBIRD = {"activation": "gelu_tanh", "max_length": 4096, "variant": BigBird()}
_MOBILEBERT = {
    "intermediate_size": 512,
    "embedding_size": 128,
    "activation": "relu",
    "dropout": 0.0,
    "pooler_activation": "none",
}
_NO_DROPOUT = {"dropout": 0.0, "attention_dropout": 0.0}

_MODERN = {"num_segments": 0, "max_length": 8192, "layer_norm_epsilon": 1e-5, "variant": ModernBERT(), **_NO_DROPOUT}

RELEASED: dict[str, dict[str, Any]] = {
    # Liu et al. 2019, table 9; Sanh et al. 2019 for the smallest.
    "roberta-base": _shape(12, 768, 12, 50265, **_ROBERTA),
    "roberta-large": _shape(24, 1024, 16, 50265, **_ROBERTA),
    "distilroberta-base": _shape(6, 768, 12, 50265, **_ROBERTA),
    # Conneau et al. 2020, section 3; Martin et al. 2020, section 4.
    "xlm-roberta-base": _shape(12, 768, 12, 250002, **_ROBERTA),
    "xlm-roberta-large": _shape(24, 1024, 16, 250002, **_ROBERTA),
    "camembert-base": _shape(12, 768, 12, 32005, **_ROBERTA),
    # Sanh et al. 2019, section 3.
    "distilbert-base-uncased": _shape(6, 768, 12, 30522, **_DISTILBERT),
    "distilbert-base-cased": _shape(6, 768, 12, 28996, **_DISTILBERT),
    # Clark et al. 2020, appendix A, table 6.
    "electra-small-discriminator": _shape(12, 256, 4, 30522, embedding_size=128, **_ELECTRA),
    "electra-base-discriminator": _shape(12, 768, 12, 30522, **_ELECTRA),
    "electra-large-discriminator": _shape(24, 1024, 16, 30522, **_ELECTRA),
    # Lan et al. 2020, table 1; version 2 of the checkpoints, which were trained without dropout.
    "albert-base-v2": _shape(12, 768, 12, 30000, **_ALBERT, **_NO_DROPOUT),
    "albert-large-v2": _shape(24, 1024, 16, 30000, **_ALBERT, **_NO_DROPOUT),
    "albert-xlarge-v2": _shape(24, 2048, 16, 30000, **_ALBERT, **_NO_DROPOUT),
    "albert-xxlarge-v2": _shape(12, 4096, 64, 30000, **_ALBERT, **_NO_DROPOUT),
    # Song et al. 2020, section 3, and the released configuration.
    "mpnet-base": _shape(12, 768, 12, 30527, **_MPNET),
    # Warner et al. 2024, section 2.1 and its table of the designs.
    "modernbert-base": _shape(22, 768, 12, 50368, **_MODERN, intermediate_size=1152),
    "modernbert-large": _shape(28, 1024, 16, 50368, **_MODERN, intermediate_size=2624),
    # He et al. 2021, section 5, and the released configurations, those of version 2 among them.
    "deberta-base": _shape(12, 768, 12, 50265, **_DEBERTA_1),
    "deberta-large": _shape(24, 1024, 16, 50265, **_DEBERTA_1),
    "deberta-xlarge": _shape(48, 1024, 16, 50265, **_DEBERTA_1),
    "deberta-v2-xlarge": _shape(24, 1536, 24, 128100, **_DEBERTA_2),
    "deberta-v2-xxlarge": _shape(48, 1536, 24, 128100, **_DEBERTA_2),
    # He et al. 2023, section 5, and the released configurations.
    "deberta-v3-xsmall": _shape(12, 384, 6, 128100, **_DEBERTA_3),
    "deberta-v3-small": _shape(6, 768, 12, 128100, **_DEBERTA_3),
    "deberta-v3-base": _shape(12, 768, 12, 128100, **_DEBERTA_3),
    "deberta-v3-large": _shape(24, 1024, 16, 128100, **_DEBERTA_3),
    "mdeberta-v3-base": _shape(12, 768, 12, 251000, **_DEBERTA_3),
    # Beltagy et al. 2020, section 5; Zaheer et al. 2020, appendix E, table 8, and the released configurations.
    "longformer-base-4096": _shape(12, 768, 12, 50265, **_LONGFORMER),
    "longformer-large-4096": _shape(24, 1024, 16, 50265, **_LONGFORMER),
    "bigbird-roberta-base": _shape(12, 768, 12, 50358, **_BIGBIRD),
    "bigbird-roberta-large": _shape(24, 1024, 16, 50358, **_BIGBIRD),
    # Sun et al. 2020, table 1; google-research/mobilebert, config/.
    "mobilebert-uncased": _shape(24, 512, 4, 30522, **_MOBILEBERT, variant=MobileBERT()),
    "mobilebert-tiny-uncased": _shape(
        24, 512, 4, 30522, **_MOBILEBERT, variant=MobileBERT(feed_forwards=2, bottleneck_attention=True)
    ),
    # Jiao et al. 2020, section 4.2; Wang et al. 2020, table 4.
    "tinybert-4l-312d": _shape(4, 312, 12, 30522, intermediate_size=1200),
    "tinybert-6l-768d": _shape(6, 768, 12, 30522),
    "minilm-l6-h384": _shape(6, 384, 12, 30522),
    "minilm-l12-h384": _shape(12, 384, 12, 30522),
    # BERT trained on other texts: Beltagy et al. 2019, Lee et al. 2020, Gu et al. 2021, Yang et al. 2020, Joshi et al.
    # 2020.
    "scibert-scivocab-uncased": _shape(12, 768, 12, 31090),
    "biobert-base-cased": _shape(12, 768, 12, 28996),
    "pubmedbert-base-uncased": _shape(12, 768, 12, 30522),
    "finbert-uncased": _shape(12, 768, 12, 30873),
    "spanbert-base-cased": _shape(12, 768, 12, 28996),
    "spanbert-large-cased": _shape(24, 1024, 16, 28996),
}


def preset(name: str, vocabulary: str = "uncased") -> EncoderConfig:
    """The configuration of a released encoder.

    Args:
        name: a key of `RELEASED`, or of `PRESETS` for a size of BERT.
        vocabulary: a key of `VOCABULARY_SIZES`, only for sizes of BERT: uncased or cased English, 104 languages cased,
            Chinese.

    Raises:
        ValueError: no preset has this name, or the vocabulary is unknown.

    Examples:
        >>> preset("roberta-base").num_layers
        12
        >>> preset("tiny", vocabulary="chinese").vocabulary_size
        21128
    """
    if name in RELEASED:
        return EncoderConfig(**RELEASED[name])
    check("preset", "name", name in PRESETS, f"be one of {(*PRESETS, *RELEASED)}", name)
    check("preset", "vocabulary", vocabulary in VOCABULARY_SIZES, f"be one of {tuple(VOCABULARY_SIZES)}", vocabulary)
    return EncoderConfig(**PRESETS[name], vocabulary_size=VOCABULARY_SIZES[vocabulary])
