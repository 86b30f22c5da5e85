"""Small tasks of every family, with random weights."""

import dataclasses

import numpy as np

from keras_bert.families.bigbird.settings import BigBird
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.gated.settings import Gated
from keras_bert.families.longformer.settings import Longformer
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.families.mpnet.settings import MPNet
from keras_bert.families.pre_norm.settings import PreNorm
from tests.keras_bert.interop.checkpoints import CONFIG, make_task

FAMILIES = {
    "bert": {},
    "albert": {"shared_layers": True, "embedding_size": 4},
    "longformer": {"variant": Longformer(window=4)},
    "bigbird": {"variant": BigBird(block_size=1, random_blocks=1)},
    "deberta": {"variant": DeBERTa(), "num_segments": 1},
    "mobilebert": {"variant": MobileBERT(bottleneck_size=4), "embedding_size": 3},
    "gated": {"variant": Gated(positions="linear")},
    "pre norm": {"variant": PreNorm()},
    "mpnet": {"variant": MPNet(), "num_segments": 1},
    "modernbert": {"variant": ModernBERT(), "num_segments": 0, "activation": "gelu_erf"},
}


def family_task(name, tokenizer, kind="classification"):
    task = make_task(kind, dataclasses.replace(CONFIG, **FAMILIES[name]), tokenizer)
    # Scores beyond 120 would outweigh the bias of padding.
    for weight in task.model.trainable_weights:
        weight.assign(0.3 * weight)
    # MobileBERT's tokens see the vector of the next token, which is zero for padding in every checkpoint.
    table = task.model.get_layer("token_embedding").embeddings
    table.assign(table * (np.arange(table.shape[0]) > 0)[:, None])
    return task
