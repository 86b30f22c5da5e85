"""Small checkpoints of each family, with its tokenizer."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from keras_bert.core.config import EncoderConfig
from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.gated.settings import Gated
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.families.pre_norm.settings import PreNorm
from keras_bert.interop.hugging_face import to_hugging_face
from keras_bert.models.encoder import build_encoder
from keras_bert.tasks.embedding import Embedding
from keras_bert.tokenizers.subwords import SubwordTokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.tokenizers import subwords

SHAPE = {"hidden_size": 16, "num_heads": 2, "intermediate_size": 32, "max_length": 32}
_MOBILEBERT = MobileBERT(bottleneck_size=8, feed_forwards=2)
# Family -> what of its encoder differs from BERT, and its tokenizer; one layer where two would show no more.
FAMILIES: dict[str, tuple[dict[str, Any], str]] = {
    "roberta": ({"num_layers": 1, "num_segments": 1, "position_offset": 2}, "bpe"),
    "distilbert": ({"num_layers": 1, "num_segments": 0}, "wordpiece"),
    "electra": ({"num_layers": 1, "embedding_size": 8}, "wordpiece"),
    "modernbert": ({"num_layers": 2, "num_segments": 0, "variant": ModernBERT(global_every=2, window=6)}, "modern"),
    "deberta-v2": ({"num_layers": 2, "num_segments": 0, "variant": DeBERTa(position_buckets=8)}, "unigram"),
    "albert": ({"num_layers": 2, "embedding_size": 8, "shared_layers": True}, "unigram"),
    "longformer": (
        {"num_layers": 2, "num_segments": 1, "position_offset": 2, "variant": Longformer(windows=(4, 6))},
        "bpe",
    ),
    "big_bird": ({"num_layers": 1, "variant": BigBird(block_size=2, random_blocks=1)}, "unigram"),
    "roberta-prelayernorm": ({"num_layers": 2, "num_segments": 1, "position_offset": 2, "variant": PreNorm()}, "bpe"),
    "nomic_bert": ({"num_layers": 2, "activation": "silu", "variant": Gated()}, "wordpiece"),
    "jina_bert": (
        {
            "num_layers": 2,
            "activation": "gelu_erf",
            "variant": Gated(positions="linear", attention_bias=True, output_bias=True),
        },
        "wordpiece",
    ),
    "mpnet": ({"num_layers": 2, "num_segments": 0, "position_offset": 2, "variant": MPNet()}, "mpnet"),
    "mobilebert": ({"num_layers": 1, "embedding_size": 8, "variant": _MOBILEBERT, "activation": "relu"}, "wordpiece"),
}
# Families whose graphs differ from one of these in biases or a norm alone.
SIMILAR: dict[str, tuple[dict[str, Any], str]] = {
    "gte": (
        {
            "num_layers": 2,
            "num_segments": 0,
            "activation": "gelu_erf",
            "variant": Gated(attention_bias=True, output_bias=True),
        },
        "wordpiece",
    ),
    "megatron-bert": ({"num_layers": 2, "variant": PreNorm(embeddings_norm=False)}, "wordpiece"),
}


def make_checkpoint(folder: Path, family: str, words: Sequence[str]) -> Embedding:
    """A folder as transformers writes it, of random weights; word pieces are these words."""
    changes, kind = (FAMILIES | SIMILAR)[family]
    if kind in ("wordpiece", "mpnet"):
        special = SPECIAL_TOKENS if kind == "wordpiece" else ("<s>", "<pad>", "</s>", "[UNK]", "<mask>")
        tokenizer = Tokenizer([*special, *words, "?"], True)
    else:
        tokenizer = SubwordTokenizer(subwords.content(kind))
    config = EncoderConfig(**SHAPE, **changes, vocabulary_size=tokenizer.vocabulary_size, initializer_range=0.2)
    keras.utils.set_random_seed(0)
    task = Embedding.build(build_encoder(config, pooler=False), tokenizer, max_length=32)
    to_hugging_face(task, folder, family=family)
    return task
