"""PyTorch's side of `benchmarks.batch_answers`: for an interpreter with sentence-transformers and pyarrow.

PYTHON -m benchmarks.peers.sentence_vectors sentence-transformers|transformers CHECKPOINT TABLE OUT LENGTH THREADS
"""

import json
import logging
import sys
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import sentence_transformers
import torch
import transformers
from pyarrow import csv

from benchmarks.harness.stopwatch import start_watch

BATCH = 32


def main() -> None:
    """Prints the seconds."""
    peer, checkpoint, table, out, max_length, threads = sys.argv[1:]
    logging.disable()
    torch.set_num_threads(int(threads))
    watch = start_watch()
    rows = csv.read_csv(table)
    vectors_of = encode if peer == "sentence-transformers" else run_pipeline
    vectors = vectors_of(checkpoint, rows["text"].to_pylist(), int(max_length))
    pq.write_table(rows.append_column("vector", pa.array(vectors, pa.list_(pa.float32(), len(vectors[0])))), out)
    names = (torch, transformers, sentence_transformers)
    versions = ", ".join(f"{module.__name__} {module.__version__}" for module in names)
    print(json.dumps({**watch(), "versions": versions}))


def encode(checkpoint: str, texts: Sequence[str], max_length: int) -> list[Any]:
    """By sentence-transformers."""
    model = sentence_transformers.SentenceTransformer(checkpoint, device="cpu")
    model.max_seq_length = max_length
    return list(model.encode(list(texts), batch_size=BATCH, show_progress_bar=False))


def run_pipeline(checkpoint: str, texts: Sequence[str], max_length: int) -> list[Any]:
    """By transformers' pipeline, which gives the states of tokens; those of padding are not among them one by one."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint, model_max_length=max_length)
    model = transformers.AutoModel.from_pretrained(checkpoint)
    features = transformers.pipeline("feature-extraction", model=model, tokenizer=tokenizer, device="cpu")
    vectors = []
    settings = {"truncation": True, "max_length": max_length}
    states = features(list(texts), batch_size=BATCH, return_tensors=True, tokenize_kwargs=settings)
    counts = [len(ids) for ids in tokenizer(list(texts), **settings)["input_ids"]]
    for row, count in zip(states, counts, strict=True):
        mean = row[0, :count].mean(dim=0)
        vectors.append((mean / mean.norm()).numpy())
    return vectors


if __name__ == "__main__":
    main()
