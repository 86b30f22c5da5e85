"""Makes the reference of tests/keras_bert/objectives/test_reranking.py with sentence-transformers itself.

    python -m tests.golden.reranking

Made with Python 3.11, torch 2.15.0, sentence-transformers 6.2.0: `ListMLELoss` of lists whose relevances are all
different, with scores that are drawn by chance, and its gradient with respect to the scores.
"""

import json
from pathlib import Path

import numpy as np
import torch
from sentence_transformers.cross_encoder.losses import ListMLELoss

HERE = Path(__file__).parent / "reranking.json"
LENGTHS = (4, 2, 5)


class GivenScores:
    """A cross-encoder that gives each pair the next of some scores."""

    num_labels, device = 1, "cpu"

    def __init__(self, scores: torch.Tensor) -> None:
        self._scores, self._done = scores, 0

    def preprocess(self, pairs: list[tuple[str, str]], **_: object) -> dict[str, torch.Tensor]:
        self._done += len(pairs)
        return {"scores": self._scores[self._done - len(pairs) : self._done]}

    def __call__(self, tokens: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return tokens


def main() -> None:
    """Writes scores, relevances, the numbers of lists, the loss of each list and the gradient of their sum."""
    chance, lists = np.random.default_rng(0), [number for number, length in enumerate(LENGTHS) for _ in range(length)]
    scores = torch.tensor(chance.normal(scale=2, size=len(lists)), dtype=torch.float32, requires_grad=True)
    relevances = [chance.permutation(length).astype(float) for length in LENGTHS]
    losses, start = [], 0
    for length, relevance in zip(LENGTHS, relevances, strict=True):
        model = GivenScores(scores[start : start + length])
        texts = [["query"], [["passage"] * length]]
        losses.append(ListMLELoss(model, respect_input_order=False)(texts, [torch.tensor(relevance)]))
        start += length
    sum(losses).backward()
    content = {
        "scores": scores.tolist(),
        "relevances": np.concatenate(relevances).tolist(),
        "lists": lists,
        "losses": [loss.item() for loss in losses],
        "gradient": scores.grad.tolist(),
    }
    HERE.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
