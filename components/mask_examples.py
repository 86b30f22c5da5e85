"""Corpus and Vocabulary -> PretrainingExamples."""

import json
import tempfile
from collections import Counter
from pathlib import Path

from components.artifacts import Corpus, PretrainingExamples, Vocabulary
from components.base import Input, InputError, Local, Output, component, report_progress
from keras_bert.config import Masking, check

_FEATURES = {
    "token_ids": "int64, (length,): [CLS] A [SEP] B [SEP] with hidden tokens, not padded",
    "segment_ids": "int64, (length,): 0 up to the first [SEP], then 1",
    "mask_positions": "int64, (predictions,): where tokens are hidden, ascending",
    "mask_ids": "int64, (predictions,): what stood there",
    "next_sentence_label": "int64: 0 if B follows A, 1 if it comes from another document",
}


@component(libraries=("tensorflow-text", "apache-beam", "numpy"))
def mask_examples(
    corpus: Input[Corpus],
    vocabulary: Input[Vocabulary],
    examples: Output[PretrainingExamples],
    masking: Masking = Masking(),
    max_length: int = 128,
    held_out: float = 0.05,
    duplication: int = 1,
    seed: int = 0,
    workers: Local[int] = 1,
) -> None:
    """Pairs the sentences of a corpus and hides tokens; writes one shard of records a split for each of its shards.

    Args:
        corpus: what to learn from; at least 3 documents.
        vocabulary: the tokenizer's files.
        examples: the output.
        masking: which tokens to hide.
        max_length: the most tokens a pair, special tokens included.
        held_out: share of each shard's documents, by the hash of their ids, that goes to validation.
        duplication: how often the training documents are paired and masked anew.
        seed: of every choice, together with the name of the shard.
        workers: processes.

    Raises:
        ValueError: a parameter is out of range.
        InputError: the corpus has too few documents, or gives a split no pair.
    """
    check("mask_examples", "max_length", max_length >= 8, "be at least 8", max_length)
    check("mask_examples", "held_out", 0 < held_out < 1, "be in (0, 1)", held_out)
    check("mask_examples", "duplication", duplication >= 1, "be at least 1", duplication)
    documents = corpus.manifest()["counts"]["documents"]
    if documents < 3:
        raise InputError(
            "the corpus must hold at least 3 documents (a blank line ends a document) "
            f"for pairs of sentences and a held-out part, got {documents}"
        )
    import apache_beam as beam

    from components.local_beam import run_over
    from components.masked_shards import MaskShardFn, ShardJob

    shards = sorted(str(path) for path in corpus.path.glob("corpus-*.jsonl.gz"))
    report_progress(0, len(shards), "masking shards")
    with tempfile.TemporaryDirectory(dir=examples.path) as scratch:
        folders = str(vocabulary.path), str(examples.path), scratch
        job = ShardJob(*folders, masking, max_length, held_out, duplication, seed, len(shards))
        run_over(shards, lambda paths: paths | "Mask" >> beam.ParDo(MaskShardFn(job)), workers)
        counts: Counter[str] = Counter()
        for file in Path(scratch).glob("*.json"):
            counts.update(json.loads(file.read_text()))
    for split in ("train", "validation"):
        if not counts[split]:
            raise InputError(
                f"the corpus must give at least one pair of sentences for {split}, got none from {documents} documents"
                "; add text, or part it into more documents by blank lines"
            )
    from keras_bert.records import write_features

    sizes = {"max_length": max_length, "max_predictions": masking.max_predictions}
    write_features(examples.path, {"features": _FEATURES, **sizes, "counts": dict(counts)})
    examples.counts = dict(counts)
