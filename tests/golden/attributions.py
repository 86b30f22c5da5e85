"""Makes the reference of tests/keras_bert/explain/test_attribution_parity.py with captum and transformers themselves.

    python -m tests.golden.attributions

Made with Python 3.11, torch 2.13.0, transformers 5.23.0, captum 0.9.0. The integrated gradients of the small
classifiers of tests.golden.families, and of tests.golden.hugging_face for BERT, which have the weights. The path runs
through the output of the token embeddings, the integral is the mean over the midpoints of the steps, and the number
explained is the logit of a label for a pair of texts.
"""

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from captum.attr import LayerIntegratedGradients

from tests.golden.families import FAMILIES, LABELS, LONG, load
from tests.golden.families import VOCABULARY as VOCABULARY_SIZE
from tests.golden.hugging_face import VOCABULARY

HERE = Path(__file__).parent
BERT = "hugging_face_classification"
TEXT, TEXT_TOKENS = "The cats sat, unknown! ", "the cat ##s sat , un ##known ! ".split()
PAIR, PAIR_TOKENS = "Rain fell. ", "rain fell . ".split()
LABEL, STEPS = 2, 64


def make(name: str, repeats: int) -> dict[str, Any]:
    """The texts, their tokens, and what each token adds to the logit, from both baselines."""
    if name == BERT:
        folder = HERE / name
        model: Any = transformers.BertForSequenceClassification.from_pretrained(folder).eval()
        vocabulary = list(VOCABULARY)
    else:
        model, _, _ = load(name)
        vocabulary = VOCABULARY[:VOCABULARY_SIZE]
        pad, place = vocabulary[0], model.config.pad_token_id
        vocabulary[0], vocabulary[place] = vocabulary[place], pad
    firsts = ["[CLS]", *TEXT_TOKENS * repeats, "[SEP]"]
    tokens = [*firsts, *PAIR_TOKENS * repeats, "[SEP]"]
    ids = torch.tensor([[vocabulary.index(token) for token in tokens]])
    others = {"attention_mask": torch.ones_like(ids)}
    if getattr(model.config, "type_vocab_size", 0) >= 2:
        others["token_type_ids"] = (torch.arange(len(tokens)) >= len(firsts)).long()[None]
    is_special = (ids == vocabulary.index("[CLS]")) | (ids == vocabulary.index("[SEP]"))
    scores = {
        baseline: integrate(model, ids, torch.where(is_special, ids, vocabulary.index(baseline)), others)
        for baseline in ("[PAD]", "[MASK]")
    }
    with torch.no_grad():
        logit = float(model(input_ids=ids, **others).logits[0, LABEL])
    texts = {"text": TEXT * repeats, "pair": PAIR * repeats, "tokens": tokens, "vocabulary": vocabulary}
    return {**texts, "label": LABELS[LABEL], "score": logit, "token_scores": scores}


def integrate(model: Any, ids: torch.Tensor, baseline: torch.Tensor, others: dict[str, torch.Tensor]) -> list[float]:
    """The integrated gradients of one row, summed over the width of the embeddings."""

    def run(ids: torch.Tensor, *values: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = model(input_ids=ids, **dict(zip(others, values, strict=True))).logits
        return logits

    attributions = LayerIntegratedGradients(run, model.get_input_embeddings()).attribute(
        ids,
        baseline,
        target=LABEL,
        additional_forward_args=tuple(others.values()),
        n_steps=STEPS,
        method="riemann_middle",
    )
    # Longformer and BigBird pad the row.
    scores: list[float] = attributions[0, : ids.shape[1]].sum(-1).tolist()
    return scores


if __name__ == "__main__":
    # So long that the windows and blocks of those families do not reach everywhere.
    repeats = {f"{family}ForSequenceClassification": 4 if family in LONG else 1 for family in FAMILIES}
    content = {name: make(name, count) for name, count in {BERT: 1, **repeats}.items()}
    (HERE / "attributions.json").write_text(json.dumps(content) + "\n")
