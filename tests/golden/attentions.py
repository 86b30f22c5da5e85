"""Makes the references of tests/keras_bert/explain/test_parity.py with transformers and captum themselves.

    python -m tests.golden.attentions

Made with Python 3.11, torch 2.15.0, transformers 5.23.0, captum 0.9.0. The models are those of `families.py`,
whose files hold their configurations, shapes and inputs: of each encoder the attention is kept, of classifiers captum's
integrated gradients.
"""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from captum.attr import LayerIntegratedGradients

from tests.golden.drawn_weights import draw

FAMILIES = Path(__file__).parent / "families"
HERE = Path(__file__).parent / "attentions"
GIVEN = {"input_ids": "token_ids", "token_type_ids": "segment_ids", "attention_mask": "padding_mask"}
CLASSIFIERS = ("Roberta", "DistilBert", "Electra", "Albert", "Deberta", "DebertaV2")
LABEL, STEPS, MASK = 1, 64, 4


def main() -> None:
    """Writes a file for each model."""
    HERE.mkdir(exist_ok=True)
    for file in sorted(FAMILIES.glob("[A-Z]*Model.npz")):
        np.savez_compressed(HERE / file.name, attention=attend(*load(file, file.stem)))
    for family in CLASSIFIERS:
        name = f"{family}ForSequenceClassification"
        np.savez_compressed(HERE / f"{name}.npz", **attribute(*load(FAMILIES / f"{name}.npz", name)))


def load(file: Path, name: str) -> tuple[Any, dict[str, torch.Tensor]]:
    """A model with its drawn weights, and its inputs."""
    content = dict(np.load(file))
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(str(content["config"]))
        config = transformers.AutoConfig.from_pretrained(folder)
    config._attn_implementation = "eager"
    model = getattr(transformers, name)(config).eval()
    shapes = json.loads(str(content["shapes"]))
    model.load_state_dict({name: torch.tensor(draw(name, shape)) for name, shape in shapes.items()}, strict=False)
    model.tie_weights()
    given = {theirs: torch.tensor(content[ours]).long() for theirs, ours in GIVEN.items()}
    if getattr(config, "type_vocab_size", 0) < 2:
        del given["token_type_ids"]
    return model, given


@torch.no_grad()
def attend(model: Any, given: dict[str, torch.Tensor]) -> np.ndarray[Any, Any]:
    """The attention (layers, rows, heads, length, length); 0 where a query or a key is padding."""
    mask = given["attention_mask"]
    rows = []
    for row, length in enumerate(mask.sum(1).tolist()):
        # What a row gets that has no padding behind it; BigBird's blocks depend on the length.
        whole = model.config.model_type in ("big_bird", "longformer")
        inputs = {name: tensor[row : row + 1, : None if whole else length] for name, tensor in given.items()}
        outputs = model(**inputs, output_attentions=True)
        layers = outputs.attentions
        if model.config.model_type == "longformer":
            layers = [spread(layer[0].numpy(), mask.shape[1]) for layer in layers]
        weights = np.stack([np.asarray(layer).reshape(-1, *np.shape(layer)[-2:]) for layer in layers])
        full = np.zeros((*weights.shape[:2], mask.shape[1], mask.shape[1]), "float32")
        full[:, :, :length, :length] = weights[:, :, :length, :length]
        rows.append(full)
    return np.stack(rows, axis=1)


def spread(parts: np.ndarray[Any, Any], length: int) -> np.ndarray[Any, Any]:
    """Longformer's windows (heads, length, window + 1), by the distance of the key from the query, as a full matrix."""
    half = parts.shape[-1] // 2
    full = np.zeros((parts.shape[0], length, length), "float32")
    for query in range(length):
        for place in range(parts.shape[-1]):
            if 0 <= query + place - half < length:
                full[:, query, query + place - half] = parts[:, query, place]
    return full


def attribute(model: Any, given: dict[str, torch.Tensor]) -> dict[str, np.ndarray[Any, Any]]:
    """Captum's integrated gradients of the first row, which has no padding, for a baseline of padding and of masks."""
    words = next(layer for name, layer in model.named_modules() if name.endswith("embeddings.word_embeddings"))
    first = {name: tensor[:1] for name, tensor in given.items()}
    ids = first.pop("input_ids")
    results = {}
    for name, empty in (("pad", model.config.pad_token_id), ("mask", MASK)):
        baseline = torch.full_like(ids, empty)
        baseline[:, 0], baseline[:, -1] = ids[:, 0], ids[:, -1]
        attributor = LayerIntegratedGradients(lambda ids, *others: logits(model, ids, first, others), words)
        shares = attributor.attribute(ids, baselines=baseline, n_steps=STEPS, method="riemann_middle")
        results[name] = shares.sum(-1)[0].detach().numpy()
    return results


def logits(model: Any, ids: torch.Tensor, first: dict[str, torch.Tensor], _: Any) -> torch.Tensor:
    """The label's logit of rows that are alike but for their ids."""
    others = {name: tensor.expand(len(ids), -1) for name, tensor in first.items()}
    return model(input_ids=ids, **others).logits[:, LABEL]


if __name__ == "__main__":
    main()
