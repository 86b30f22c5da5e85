"""sentence-transformers' side of `benchmarks/jobs/retrieval.toml`: for an interpreter with torch and its libraries.

    PYTHON -m benchmarks.peers.sentence_transformers_retrieval CHECKPOINT PAIRS --out FOLDER

PAIRS is JSON Lines with `query` and `passage`. The loss is `MultipleNegativesRankingLoss` with its scale of 20; batches
in random order, AdamW without decay on biases and LayerNorm, linear decay after a linear warm-up of a tenth, gradients
clipped at a norm of 1, bfloat16 (autocast). It prints a line of JSON and saves the model.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer import losses

from benchmarks.peers.hugging_face_loop import train_steps


def main() -> None:
    """Trains, then encodes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint")
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epochs", type=float, default=1.0)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=2e-5)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    model = SentenceTransformer(options.checkpoint, device="cpu")
    model.max_seq_length = options.max_length
    rows = map(json.loads, options.pairs.read_text(encoding="utf-8").splitlines())
    minutes, steps = train(model, [[row["query"], row["passage"]] for row in rows], options)
    model.save(str(options.out))
    print(json.dumps({"seed": options.seed, "minutes": minutes, "steps": steps}), flush=True)


def train(model: SentenceTransformer, pairs: list[list[str]], options: argparse.Namespace) -> tuple[float, int]:
    """Trains the model; returns the minutes and the number of steps."""
    loss = losses.MultipleNegativesRankingLoss(model)

    def measure(rows: list[int]) -> torch.Tensor:
        features = [model.tokenize([pairs[row][side] for row in rows]) for side in (0, 1)]
        with torch.autocast("cpu", torch.bfloat16):
            return loss(features, torch.zeros(len(rows))).float()

    steps = max(1, round(options.epochs * len(pairs) / options.batch_size))
    start = time.perf_counter()
    for _ in train_steps(model, measure, len(pairs), steps, options, options.seed):
        pass
    return (time.perf_counter() - start) / 60, steps


if __name__ == "__main__":
    main()
