"""Makes the references of tests/keras_bert/interop/test_families.py with transformers itself.

    python -m tests.golden.families [FAMILY ...]

Made with Python 3.11, torch 2.13.0, transformers 5.23.0. One file for each family and head: the configuration and the
shapes of the tensors as transformers writes them, inputs, and what it answers. The weights are drawn from the tensors'
names, so that nobody has to keep them.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors.torch import load_file, save_file

from tests.golden import jina
from tests.golden.drawn_weights import draw

HERE = Path(__file__).parent / "families"
VOCABULARY = 40
SIZES = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 20,
}
# What of a family differs from BERT, and the classes that it has besides those that all have.
FAMILIES: dict[str, dict[str, Any]] = {
    "Roberta": {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5},
    "XLMRoberta": {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5},
    "Camembert": {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5},
    "Data2VecText": {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5},
    "RobertaPreLayerNorm": {"type_vocab_size": 1, "pad_token_id": 1, "layer_norm_eps": 1e-5},
    "NomicBert": {"rope_parameters": {"rope_type": "linear", "rope_theta": 50.0, "factor": 1.5}},
    "Gte": {"type_vocab_size": 0, "pad_token_id": 1},
    "JinaBert": {"position_embedding_type": "alibi", "feed_forward_type": "geglu", "num_attention_heads": 4},
    "MegatronBert": {"pad_token_id": 0},
    "DistilBert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24, "seq_classif_dropout": 0.3},
    "Ernie": {},
    "Electra": {"embedding_size": 12},
    "Albert": {"embedding_size": 12, "hidden_act": "gelu_new"},
    "MobileBert": {
        "embedding_size": 6,
        "intermediate_size": 8,
        "intra_bottleneck_size": 8,
        "num_feedforward_networks": 2,
    },
    "ModernBert": {"local_attention": 6, "pad_token_id": 0},
    # Windows of 4 and 8 tokens, and blocks of 4, of which a row has 12: each token sees but a part of the others.
    "Longformer": {
        "type_vocab_size": 1,
        "pad_token_id": 1,
        "sep_token_id": 3,
        "attention_window": [4, 8],
        "max_position_embeddings": 50,
    },
    "BigBird": {"block_size": 4, "num_random_blocks": 2, "sep_token_id": 3, "max_position_embeddings": 50},
    # So long rows that some buckets hold several distances.
    "MPNet": {"pad_token_id": 1, "max_position_embeddings": 50, "layer_norm_eps": 1e-5},
    "Deberta": {"relative_attention": True, "pos_att_type": "c2p|p2c", "position_biased_input": False},
    # As those of version 3, but with so few buckets that some hold several distances.
    "DebertaV2": {
        "relative_attention": True,
        "position_buckets": 8,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": "p2c|c2p",
        "position_biased_input": False,
        "cls_dropout": 0.3,
    },
}
_LAYER_NORM = {"normalization_type": "layer_norm", "hidden_act": "gelu", "num_feedforward_networks": 1}
_ONE_BOTTLENECK = {"use_bottleneck_attention": True, "key_query_shared_bottleneck": False}
# What of a class differs from its family besides, so that each setting stands in a reference.
SETTINGS: dict[str, dict[str, Any]] = {
    "MobileBertForPreTraining": {"num_feedforward_networks": 3},
    "MobileBertForSequenceClassification": {"classifier_activation": False},
    "MobileBertForTokenClassification": _LAYER_NORM,
    "MobileBertForQuestionAnswering": _ONE_BOTTLENECK,
    "DebertaV2ForTokenClassification": {"conv_kernel_size": 3, "conv_act": "gelu"},
    "DebertaV2ForQuestionAnswering": {
        "share_att_key": False,
        "norm_rel_ebd": "none",
        "position_buckets": -1,
        "max_relative_positions": 6,
        "position_biased_input": True,
        "type_vocab_size": 2,
        "pos_att_type": ["c2p"],
    },
    "BigBirdForTokenClassification": {"attention_type": "original_full"},
    "BigBirdForMaskedLM": {"num_random_blocks": 3},
    "LongformerForMaskedLM": {"attention_window": 6},
    "DebertaForQuestionAnswering": {"position_biased_input": True, "type_vocab_size": 2, "max_relative_positions": 6},
}
# Families whose last token sees whether there is padding behind it: ours gives what a text gets that has none.
ALONE = ("MobileBert",)
HEADS = ("Model", "ForMaskedLM", "ForSequenceClassification", "ForTokenClassification", "ForQuestionAnswering")
FURTHER = dict.fromkeys(("Albert", "BigBird", "Electra", "Ernie", "MegatronBert", "MobileBert"), ("ForPreTraining",))
# Of families whose attention does not reach everywhere rows have so many tokens, else 11.
LONG = {"Longformer": 43, "BigBird": 46, "MPNet": 43}
# A family and a head -> by a name, what else one more model of it has.
OTHERWISE = {
    ("ModernBert", "ForSequenceClassification"): {"mean": {"classifier_pooling": "mean"}},
    # So large blocks that a row is seen whole.
    ("BigBird", "Model"): {"short": {"block_size": 6}},
    # An activation that their heads for masked tokens do not have.
    ("Roberta", "ForMaskedLM"): {"relu": {"hidden_act": "relu"}},
    ("Electra", "ForMaskedLM"): {"relu": {"hidden_act": "relu"}},
}
NO_QUESTIONS = ("NomicBert", "Gte")
LABELLED = ("ForSequenceClassification", "ForTokenClassification")
LABELS = {0: "bad", 1: "so-so", 2: "good"}


def make_inputs(pad: int, longest: int | None = None, separator: int = 3) -> dict[str, np.ndarray[Any, Any]]:
    """Three rows of which two are padded, with two segments; no token is one of padding.

    Where `longest` is given, the first segment is a question that ends with a separator, as Longformer and BigBird look
    for it; there are three of them in a row.
    """
    rng = np.random.default_rng(7)
    most = longest or 11
    lengths = np.array([[most], [7 * most // 11], [3 * most // 11]])
    places = np.arange(most)[None, :]
    mask = (places < lengths).astype("int32")
    ids = np.where(mask == 1, rng.integers(5, VOCABULARY, (3, most)), pad).astype("int32")
    starts = lengths // 2
    if longest is not None:
        starts = np.minimum(starts, np.array([[9], [6], [5]]))
        ids[(places == starts - 1) | (places == starts) | (places == lengths - 1)] = separator
    return {"token_ids": ids, "segment_ids": (places >= starts).astype("int32") * mask, "padding_mask": mask}


def make(family: str, head: str, mark: str, further: dict[str, Any]) -> None:
    """One small model."""
    library = jina if family == "JinaBert" else transformers
    config_class = getattr(library, f"{family}Config")
    settings = {**SIZES, **FAMILIES[family], **SETTINGS.get(family + head, {}), **further}
    labels = {"id2label": LABELS} if head in LABELLED else {}
    model = getattr(library, family + head)(config_class(**settings, **labels)).eval()
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        held = load_file(Path(folder) / "model.safetensors")
        config = json.loads((Path(folder) / "config.json").read_text())
    shapes = {name: tuple(tensor.shape) for name, tensor in held.items()}
    model = draw_weights(model, shapes)
    inputs = make_inputs(config["pad_token_id"], LONG.get(family))
    tensors = as_tensors(inputs, config)
    answers = answer_alone(model, tensors) if family in ALONE else answer(model, tensors)
    HERE.mkdir(exist_ok=True)
    np.savez_compressed(
        HERE / f"{mark}{family}{head}.npz", **inputs, **answers, config=json.dumps(config), shapes=json.dumps(shapes)
    )


def draw_weights(model: Any, shapes: dict[str, Sequence[int]]) -> Any:
    """The model with the weights that are drawn from the names of its tensors in files."""
    tensors = {name: torch.tensor(draw(name, shape)) for name, shape in shapes.items()}
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    if unexpected:  # transformers renames them when it reads a file
        with tempfile.TemporaryDirectory() as folder:
            model.config.save_pretrained(folder)
            save_file(tensors, Path(folder) / "model.safetensors", {"format": "pt"})
            return type(model).from_pretrained(folder, attn_implementation=model.config._attn_implementation).eval()
    model.tie_weights()
    # What is tied to other tensors is not in the file.
    tied = ("decoder", "vocab_projector", "lm_head")
    assert all(any(part in name for part in tied) for name in missing), missing
    return model


def as_tensors(inputs: dict[str, np.ndarray[Any, Any]], config: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Our inputs by the names of transformers; segments only for a model that has some."""
    names = {"input_ids": "token_ids", "token_type_ids": "segment_ids", "attention_mask": "padding_mask"}
    if config.get("type_vocab_size", 0) < 2:
        del names["token_type_ids"]
    return {theirs: torch.tensor(inputs[ours]).long() for theirs, ours in names.items()}


def load(name: str) -> tuple[torch.nn.Module, dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The model of a file that is made already, its configuration, and what else the file holds."""
    content = dict(np.load(HERE / f"{name}.npz"))
    config, shapes = (json.loads(str(content.pop(key))) for key in ("config", "shapes"))
    model_class = getattr(jina if name.startswith("JinaBert") else transformers, name.rpartition("-")[2])
    # The attention that gives its probabilities.
    model = model_class(model_class.config_class.from_dict(config, attn_implementation="eager")).eval()
    return draw_weights(model, shapes), config, content


@torch.no_grad()
def answer(model: torch.nn.Module, given: dict[str, torch.Tensor]) -> dict[str, np.ndarray[Any, Any]]:
    """What transformers answers."""
    outputs = model(**given)
    return {f"output_{name}": value.numpy() for name, value in outputs.items() if isinstance(value, torch.Tensor)}


def answer_alone(model: torch.nn.Module, given: dict[str, torch.Tensor]) -> dict[str, np.ndarray[Any, Any]]:
    """The same, of each row's tokens what it answers without the padding behind them."""
    answers, mask = answer(model, given), given["attention_mask"]
    for row, length in enumerate(mask.sum(1).tolist()):
        alone = answer(model, {name: tensor[row : row + 1, :length] for name, tensor in given.items()})
        for name, (outputs,) in alone.items():
            place = answers[name][row]
            place[: length if answers[name].shape[:2] == mask.shape else None] = outputs
    return answers


if __name__ == "__main__":
    for family in sys.argv[1:] or FAMILIES:
        heads = HEADS[:-1] if family in NO_QUESTIONS else HEADS
        for head in (*heads, *FURTHER.get(family, ())):
            make(family, head, "", {})
            for name, further in OTHERWISE.get((family, head), {}).items():
                make(family, head, f"{name}-", further)
