"""Makes the reference of tests/plugins/explain/test_attention_parity.py with transformers itself.

    python -m tests.golden.attentions [MODEL ...]

Made with Python 3.11, torch 2.13.0, transformers 5.23.0. The attention probabilities of the small models of
tests.golden.families, and of tests.golden.hugging_face for BERT; these have the weights and the inputs. The parts that
Longformer and BigBird give become full matrices. The rows of queries that are padding are 0: nothing depends on them.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from tests.golden.families import ALONE, FAMILIES, as_tensors, load

HERE = Path(__file__).parent
BERT = "hugging_face_bert_model"
# Models with settings of attention that their family's first model does not have.
FURTHER = (
    "BigBirdForMaskedLM",
    "BigBirdForTokenClassification",
    "DebertaForQuestionAnswering",
    "DebertaV2ForTokenClassification",
    "DebertaV2ForQuestionAnswering",
    "LongformerForSequenceClassification",
    "LongformerForQuestionAnswering",
    "MobileBertForQuestionAnswering",
)
Array = np.ndarray[Any, Any]


@torch.no_grad()
def attend(model: torch.nn.Module, tensors: dict[str, torch.Tensor]) -> Array:
    """The probabilities (layers, batch, heads, queries, keys)."""
    outputs, config = model(**tensors, output_attentions=True), model.config
    layers, length = [layer.numpy() for layer in outputs.attentions], tensors["input_ids"].shape[1]
    if config.model_type == "longformer":
        to_all = outputs.global_attentions or [layer[..., :0] for layer in outputs.attentions]
        real = tensors["attention_mask"].numpy() == 1
        layers = [spread_windows(layer, part.numpy(), real) for layer, part in zip(layers, to_all, strict=True)]
    elif config.model_type == "big_bird" and config.attention_type == "block_sparse":
        layers = [add_copies(layer, config.block_size, config.num_random_blocks) for layer in layers]
    return np.stack(layers)[..., :length, :length]


def spread_windows(local: Array, to_all: Array, real: Array) -> Array:
    """Longformer's parts as full matrices (batch, heads, length, length).

    Args:
        local: (batch, heads, length, global tokens + window + 1): first the global tokens as keys, then the window, in
            whose middle the query stands. All 0 for a query that is a global token, or padding.
        to_all: the probabilities of global tokens as queries (batch, heads, keys, global tokens).
        real: whether a token is not padding (batch, length).
    """
    length, first = local.shape[2], to_all.shape[-1]
    reach = (local.shape[-1] - first - 1) // 2
    full = np.zeros((*local.shape[:3], length), "float32")
    for query in range(length):
        for key in range(max(query - reach, 0), min(query + reach + 1, length)):
            full[:, :, query, key] = local[:, :, query, first + reach + key - query]
    for row, is_global in enumerate(real & (local == 0).all(axis=(1, 3))):
        for number, place in enumerate(np.flatnonzero(is_global)):
            # The window has 0 for a key that is global.
            full[row, :, :, place] += local[row, :, :, number]
            full[row, :, place] = to_all[row, :, :length, number]
    return full


def add_copies(full: Array, block_size: int, random_blocks: int) -> Array:
    """BigBird's matrices with all of the first block's share.

    At inference transformers takes the first block for each of the random blocks, so that middle queries attend to some
    copies of it besides; but its matrices hold the share of one copy, and do not sum to 1.
    """
    full = full.copy()
    full[:, :, block_size:-block_size, :block_size] *= 1 + random_blocks
    return full


def make(name: str) -> Array:
    """The probabilities of one model."""
    if name == BERT:
        content = dict(np.load(HERE / name / "outputs.npz"))
        model = transformers.BertModel.from_pretrained(HERE / name, attn_implementation="eager").eval()
        config = model.config.to_dict()
    else:
        model, config, content = load(name)
    tensors, mask = as_tensors(content, config), content["padding_mask"]
    full = attend(model, tensors)
    if name.startswith(ALONE):
        for row, length in enumerate(mask.sum(axis=1)):
            alone = attend(model, {key: tensor[row : row + 1, :length] for key, tensor in tensors.items()})
            full[:, row] = 0
            full[:, row, :, :length, :length] = alone[:, 0]
    full *= mask[None, :, None, :, None]
    sums = full.sum(axis=-1).transpose(1, 3, 0, 2)[mask == 1]
    np.testing.assert_allclose(sums, 1, atol=1e-5, err_msg=name)
    return full


if __name__ == "__main__":
    file = HERE / "attentions.npz"
    names = sys.argv[1:] or (BERT, *(f"{family}Model" for family in FAMILIES), *FURTHER)
    kept = dict(np.load(file)) if sys.argv[1:] else {}
    np.savez_compressed(file, **{**kept, **{name: make(name) for name in names}})
