"""Makes the reference of tests/keras_bert/objectives/test_contrast.py with sentence-transformers itself.

    python -m tests.golden.contrast

Made with Python 3.11, torch 2.15.0, sentence-transformers 6.2.0. The losses get the vectors themselves, which are drawn
by chance: `MultipleNegativesRankingLoss` of queries, passages and a negative for each query, in one direction and in
both; `TripletLoss` with cosines and with Euclidean distances; and the mean of the first over truncated vectors, as
`MatryoshkaLoss` shrinks them, whose sum has the weight 1 for each width; `MarginMSELoss` and `DistillKLDivLoss` with a
teacher's scores of the passage and of two negatives, the second of which is the next row's. The gradients are with
respect to the queries.
"""

from pathlib import Path

import numpy as np
import torch
from sentence_transformers.sentence_transformer import losses
from sentence_transformers.sentence_transformer.losses.matryoshka import shrink

HERE = Path(__file__).parent / "contrast.npz"
ROWS, WIDTH, SCALE, DIMENSIONS = 7, 12, 20.0, (4, 8)


def main() -> None:
    """Writes vectors, losses and gradients."""
    chance = np.random.default_rng(0)
    content = {name: chance.normal(size=(ROWS, WIDTH)).astype("float32") for name in ("query", "passage", "negative")}
    content["passage"] += content["query"]
    both = {"directions": ("query_to_doc", "doc_to_query"), "partition_mode": "per_direction"}
    metric = losses.TripletDistanceMetric
    ranking = losses.MultipleNegativesRankingLoss(None, scale=SCALE)
    kinds = {
        "ranking": ranking,
        "symmetric": losses.MultipleNegativesRankingLoss(None, scale=SCALE, **both),
        "triplet_cosine": losses.TripletLoss(None, metric.COSINE, triplet_margin=0.2),
        "triplet_euclidean": losses.TripletLoss(None, metric.EUCLIDEAN, triplet_margin=5),
    }
    results = {}
    for name, loss in kinds.items():
        vectors = [torch.tensor(content[side], requires_grad=True) for side in ("query", "passage", "negative")]
        value = loss.compute_loss_from_embeddings(vectors, None)
        value.backward()
        results |= {name: value.detach().numpy(), f"{name}_gradient": vectors[0].grad.numpy()}
    vectors = [torch.tensor(content[side], requires_grad=True) for side in ("query", "passage", "negative")]
    value = sum(
        ranking.compute_loss_from_embeddings([shrink(side, width) for side in vectors], None)
        for width in (*DIMENSIONS, WIDTH)
    ) / (len(DIMENSIONS) + 1)
    value.backward()
    results |= {"matryoshka": value.detach().numpy(), "matryoshka_gradient": vectors[0].grad.numpy()}
    divergence = losses.DistillKLDivLoss(None, temperature=2.0)
    results["teacher_scores"] = chance.normal(scale=5.0, size=(ROWS, 3)).astype("float32")
    for name, loss in (("margin_mse", losses.MarginMSELoss(None)), ("list_divergence", divergence)):
        vectors = [torch.tensor(content[side], requires_grad=True) for side in ("query", "passage", "negative")]
        sides = [*vectors, vectors[2].roll(-1, 0)]
        value = loss.compute_loss_from_embeddings(sides, torch.tensor(results["teacher_scores"]))
        value.backward()
        results |= {name: value.detach().numpy(), f"{name}_gradient": vectors[0].grad.numpy()}
    np.savez(HERE, **content, **results)


if __name__ == "__main__":
    main()
