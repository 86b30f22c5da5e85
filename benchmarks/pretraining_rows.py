"""Text to masked rows, in MB of text a second of one core, and rows read a second; one line each.

    python -m benchmarks.pretraining_rows --text FILE

Times of writing are the processor's, of all threads together, after the corpus shard is read; the best of the rounds.
Times of reading are those of the clock.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import get_args

from components.artifacts.data import Corpus, PretrainingExamples, Vocabulary
from components.build_vocabulary import build_vocabulary
from components.corpus.shards import read_shard
from components.ingest_corpus import ingest_corpus
from components.mask_examples import mask_examples
from components.rows.masked_shards import MaskShardFn, ShardJob, write_shard
from components.sources.text import TextSource
from keras_bert.data.pretraining_batches import pretraining_batches
from keras_bert.options.pretraining import Masking, PairObjective, PretrainingRows, Strategy

JOBS: list[tuple[Strategy, PairObjective]] = [
    ("tokens", "next_sentence"),
    ("whole_words", "next_sentence"),
    ("spans", "next_sentence"),
    ("tokens", "sentence_order"),
    ("tokens", "none"),
]


def main() -> None:
    """Prints the speeds."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", required=True)
    parser.add_argument("--shards", type=int, default=5, help="of the corpus, for writing")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        corpus, vocabulary = Corpus(Path(folder) / "corpus"), Vocabulary(Path(folder) / "vocabulary")
        ingest_corpus.run(corpus=corpus, source=TextSource(options.text))
        build_vocabulary.run(corpus=corpus, vocabulary=vocabulary, size=8000)
        for strategy, objective in JOBS:
            rows, masking = PretrainingRows(objective=objective), Masking(strategy=strategy)
            speed = time_writing(corpus, vocabulary, masking, rows, options)
            print(f"write {objective}, {strategy}: {speed:.1f} MB/s a core", flush=True)
        ways = {"static": Masking(), **{strategy: Masking(strategy=strategy) for strategy in get_args(Strategy)}}
        for strategy, masking in ways.items():
            examples = PretrainingExamples(Path(folder) / strategy)
            rows = PretrainingRows(dynamic=strategy != "static")
            mask_examples.run(corpus=corpus, vocabulary=vocabulary, examples=examples, masking=masking, rows=rows)
            speed = time_reading(examples, options.batch_size)
            print(f"read batches of {options.batch_size}, {strategy}: {speed:,.0f} rows/s", flush=True)


def time_writing(
    corpus: Corpus, vocabulary: Vocabulary, masking: Masking, rows: PretrainingRows, options: argparse.Namespace
) -> float:
    """MB of text a second of processor time."""
    shards = sorted(corpus.path.glob("corpus-*.jsonl.gz"))[: options.shards]
    size = sum(len(text.encode()) for shard in shards for _, text in read_shard(shard.read_bytes()))
    best = float("inf")
    with tempfile.TemporaryDirectory() as folder:
        job = ShardJob(str(vocabulary.path), folder, folder, {128: masking}, rows, 0, len(shards))
        step = MaskShardFn(job)
        step.setup()
        for _ in range(options.rounds):
            began = time.process_time()
            for shard in shards:
                read_shard(shard.read_bytes())
            read = time.process_time()
            for shard in shards:
                write_shard(shard, step.tokenizer, step.pieces, job)
            # Writing reads, too.
            best = min(best, time.process_time() - read - (read - began))
    return size / 1e6 / best


def time_reading(examples: PretrainingExamples, batch_size: int, rows: int = 40_000) -> float:
    """Rows a second, shuffled, all padded to 128 tokens."""
    dataset = pretraining_batches(examples.path, "train", batch_size, shuffle=True).after(0)
    began = time.perf_counter()
    for _ in dataset.take(rows // batch_size):
        pass
    return rows / (time.perf_counter() - began)


if __name__ == "__main__":
    main()
