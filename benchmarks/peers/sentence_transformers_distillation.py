"""sentence-transformers' side of `benchmarks/jobs/space.toml`: for an interpreter with torch and its libraries.

    PYTHON -m benchmarks.peers.sentence_transformers_distillation CHECKPOINT TEXTS --out FOLDER --steps 3500

TEXTS has a text a line. The student keeps some of the layers and learns the checkpoint's vectors by `MSELoss`, as the
library's example of distillation does; the training loop is that of `sentence_transformers_retrieval`. It prints a line
of JSON and saves the student.
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
    """Trains, then saves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkpoint")
    parser.add_argument("texts", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--layers", type=int, nargs="+", default=[1, 3, 5])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--learning-rate", type=float, default=2e-4)
    parser.add_argument("--max-length", type=int, default=128)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    teacher, student = (SentenceTransformer(options.checkpoint, device="cpu") for _ in range(2))
    teacher.max_seq_length = student.max_seq_length = options.max_length
    bert = student[0].auto_model
    bert.encoder.layer = torch.nn.ModuleList(bert.encoder.layer[layer] for layer in options.layers)
    bert.config.num_hidden_layers = len(options.layers)
    lines = options.texts.read_text(encoding="utf-8").splitlines()
    texts = list(dict.fromkeys(line for line in lines if line.strip()))
    vectors = teacher.encode(texts, convert_to_tensor=True, show_progress_bar=False).clone()
    loss = losses.MSELoss(student)

    def measure(rows: list[int]) -> torch.Tensor:
        features = student.tokenize([texts[row] for row in rows])
        with torch.autocast("cpu", torch.bfloat16):
            return loss([features], vectors[rows]).float()

    start = time.perf_counter()
    for _ in train_steps(student, measure, len(texts), options.steps, options, options.seed):
        pass
    minutes = (time.perf_counter() - start) / 60
    student.save(str(options.out))
    print(json.dumps({"seed": options.seed, "minutes": minutes, "steps": options.steps}), flush=True)


if __name__ == "__main__":
    main()
