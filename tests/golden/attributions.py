"""Makes the reference of tests/plugins/explain/test_attribution_parity.py with captum and transformers themselves.

    python -m tests.golden.attributions [MODEL ...]

Made with Python 3.11, torch 2.13.0, transformers 5.23.0, captum 0.9.0. The integrated gradients of the small
classifiers of tests.golden.families, and of the heads of tests.golden.hugging_face for BERT, which have the weights.
The path runs through the output of the token embeddings, the integral is the mean over the midpoints of the steps, and
the number explained is a logit of a pair of texts.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
import transformers
from captum.attr import LayerIntegratedGradients

from tests.golden.families import FAMILIES, LONG, load
from tests.golden.families import VOCABULARY as VOCABULARY_SIZE
from tests.golden.hugging_face import VOCABULARY

HERE = Path(__file__).parent
# BERT's folders -> our name of the number that is explained, and its place in the logits; None for the best of the
# second text.
BERT: dict[str, tuple[str | None, Any]] = {
    "hugging_face_classification": ("good", 2),
    "hugging_face_regression": (None, 0),
    "hugging_face_token_classification": ("cats=B-animal", (2, 1)),
    "hugging_face_question_answering": ("end", None),
}
TEXT, TEXT_TOKENS = "The cats sat, unknown! ", "the cat ##s sat , un ##known ! ".split()
PAIR, PAIR_TOKENS = "Rain fell. ", "rain fell . ".split()
STEPS = 64


def make(name: str, repeats: int) -> dict[str, Any]:
    """The texts, their tokens, and what each token adds to the number, from both baselines."""
    target, place = BERT.get(name, ("good", 2))
    if name in BERT:
        config = transformers.AutoConfig.from_pretrained(HERE / name)
        model: Any = getattr(transformers, config.architectures[0]).from_pretrained(HERE / name).eval()
        vocabulary = list(VOCABULARY)
    else:
        model, _, _ = load(name)
        vocabulary = VOCABULARY[:VOCABULARY_SIZE]
        pad = model.config.pad_token_id
        vocabulary[0], vocabulary[pad] = vocabulary[pad], vocabulary[0]
    firsts = ["[CLS]", *TEXT_TOKENS * repeats, "[SEP]"]
    tokens = [*firsts, *PAIR_TOKENS * repeats, "[SEP]"]
    ids = torch.tensor([[vocabulary.index(token) for token in tokens]])
    others = {"attention_mask": torch.ones_like(ids)}
    if getattr(model.config, "type_vocab_size", 0) >= 2:
        others["token_type_ids"] = (torch.arange(len(tokens)) >= len(firsts)).long()[None]
    is_special = (ids == vocabulary.index("[CLS]")) | (ids == vocabulary.index("[SEP]"))
    logits = run(model, ids, others)[0].detach()
    if place is None:
        place = len(firsts) + int(logits[len(firsts) : -1].argmax())
    scores = {
        baseline: integrate(model, ids, torch.where(is_special, ids, vocabulary.index(baseline)), others, place)
        for baseline in ("[PAD]", "[MASK]")
    }
    texts = {"text": TEXT * repeats, "pair": PAIR * repeats, "tokens": tokens, "vocabulary": vocabulary}
    return {**texts, "target": target, "score": float(logits[place]), "token_scores": scores}


def run(model: Any, ids: torch.Tensor, others: dict[str, torch.Tensor]) -> torch.Tensor:
    """The logits (rows, ...); of a question, those of the answer's end."""
    outputs = model(input_ids=ids, **others)
    logits: torch.Tensor = outputs["end_logits" if "end_logits" in outputs else "logits"]
    return logits


def integrate(
    model: Any, ids: torch.Tensor, baseline: torch.Tensor, others: dict[str, torch.Tensor], place: Any
) -> list[float]:
    """The integrated gradients of one row, summed over the width of the embeddings."""
    attributions = LayerIntegratedGradients(
        lambda ids, *values: run(model, ids, dict(zip(others, values, strict=True))), model.get_input_embeddings()
    ).attribute(
        ids,
        baseline,
        target=place,
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
    file = HERE / "attributions.json"
    names = sys.argv[1:] or [*BERT, *repeats]
    kept = json.loads(file.read_text()) if sys.argv[1:] else {}
    content = {**kept, **{name: make(name, repeats.get(name, 1)) for name in names}}
    file.write_text(json.dumps(content) + "\n")
