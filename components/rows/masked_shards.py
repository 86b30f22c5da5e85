"""Turns one shard of a corpus into one shard of pre-training rows a length and split."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from components.beam.engine import report_unit
from components.beam.threaded_fn import ThreadedFn
from components.corpus.shards import ShardDocument, read_sentences
from components.rows.held_out_documents import NO_CUTS, HeldOutCuts, hash_key, hold_out_documents
from components.rows.packing import join_documents, pack_rows
from components.rows.row_layout import SpecialTokens, TokenRows, lay_out_pairs, lay_out_texts
from components.rows.samples import SAMPLES_FILE, sample_rows
from components.rows.sentence_pairs import SegmentBounds, make_ordered_pairs, make_pairs
from components.rows.statistics import Tally, add, tally_rows
from keras_bert.core.folders import write_whole
from keras_bert.data.record_bytes import Column, serialize_rows
from keras_bert.data.records import write_records
from keras_bert.masking.masks import Masked, MaskingVocabulary, mask_rows, masking_vocabulary
from keras_bert.masking.row_random import row_keys
from keras_bert.options.pretraining import Masking, PretrainingRows
from keras_bert.tokenizers.base import BaseTokenizer
from keras_bert.tokenizers.loading import load_tokenizer

# One shard is enough for people to see sample rows.
_FIRST_SHARD = "00000-of-"
# Few enough rows for the arrays of a batch to stay in the processor's cache.
_ROWS_AT_ONCE = 1024


@dataclasses.dataclass(frozen=True)
class ShardJob:
    """The settings that all shards share; the seed seeds every choice, together with the name of the shard."""

    tokenizer: str
    output: str
    scratch: str
    maskings: dict[int, Masking]
    rows: PretrainingRows
    seed: int
    shards: int
    threads: int = 1
    held_out: HeldOutCuts = NO_CUTS


class TokenizedShard(NamedTuple):
    """A tokenized shard; the documents of `train` and `validation` are ranges of `flat`."""

    flat: NDArray[np.int32]
    splits: dict[str, list[SegmentBounds]]


class MaskShardFn(ThreadedFn):
    """Writes the rows of shards; loads the tokenizer once a worker."""

    def __init__(self, job: ShardJob) -> None:
        super().__init__("mask_examples", job.threads)
        self.job = job

    def setup(self) -> None:
        super().setup()
        self.tokenizer = load_tokenizer(self.job.tokenizer)
        self.vocabulary = masking_vocabulary(self.tokenizer)

    def work(self, path: str) -> Iterator[Any]:
        write_shard(Path(path), self.tokenizer, self.vocabulary, self.job)
        report_unit(self.job.scratch, Path(path).name, self.job.shards, "masking shards")
        return iter(())


def write_shard(path: Path, tokenizer: BaseTokenizer, vocabulary: MaskingVocabulary, job: ShardJob) -> None:
    """Writes the records of a corpus shard, `{split}-{length}-*`, and their statistics to the scratch folder.

    For the first shard it also writes samples of the longest training rows, see `sample_rows`.
    """
    texts = tokenize_shard(read_sentences(path.read_bytes()), tokenizer, job.rows.held_out, job.held_out)
    place = path.name.split(".")[0].removeprefix("corpus-")
    tallies: dict[str, Tally] = {}
    for length in job.maskings:
        for split in texts.splits:
            batch_tallies: list[Tally] = []
            write_records(
                Path(job.output) / f"{split}-{length}-{place}.tfrecord",
                make_records(texts, split, length, place, tokenizer, vocabulary, job, batch_tallies),
                compression=job.rows.compression,
                scratch=job.scratch,
            )
            tallies[f"{split}-{length}"] = add(batch_tallies)
    if place.startswith(_FIRST_SHARD):
        longest = max(job.maskings)
        file = Path(job.output) / f"train-{longest}-{place}.tfrecord"
        samples = sample_rows(file, tokenizer, vocabulary, job.maskings[longest], job.rows)
        (Path(job.output) / SAMPLES_FILE).write_text(json.dumps(samples, ensure_ascii=False) + "\n", encoding="utf-8")
    write_whole(Path(job.scratch) / f"{place}.json", tallies)


def tokenize_shard(
    documents: list[ShardDocument], tokenizer: BaseTokenizer, held_out: float, cuts: HeldOutCuts = NO_CUTS
) -> TokenizedShard:
    """Tokenizes a shard and splits its documents into training and validation."""
    sentences = [document.sentences for document in documents]
    # A tensor, because the tokenizer would check the sentences of a list one by one.
    pieces = tokenizer.tokenize(tf.constant([sentence for part in sentences for sentence in part], tf.string))
    bounds = pieces.row_splits.numpy().astype(np.int64)
    validation = hold_out_documents(documents, held_out, cuts)
    splits: dict[str, list[SegmentBounds]] = {"train": [], "validation": []}
    start = 0
    for number, part in enumerate(sentences):
        # A sentence may have no tokens, if the tokenizer drops all of its characters. It is no segment then.
        segments = np.unique(bounds[start : start + len(part) + 1])
        start += len(part)
        if len(segments) > 1:
            splits["validation" if number in validation else "train"].append(SegmentBounds(segments))
    return TokenizedShard(pieces.flat_values.numpy(), splits)


def make_records(
    texts: TokenizedShard,
    split: str,
    length: int,
    place: str,
    tokenizer: BaseTokenizer,
    vocabulary: MaskingVocabulary,
    job: ShardJob,
    tallies: list[Tally],
) -> Iterator[bytes]:
    """The serialized records of a split of a shard, in rows of at most `length` tokens.

    `place`, the name of the shard, seeds every choice; `tallies` receives the statistics of every batch.
    """
    for copy in range(job.rows.duplication if split == "train" else 1):
        seed = hash_key(f"{job.seed}/{place}/{split}/{length}/{copy}")
        done = 0
        for rows in make_rows(texts, split, length, tokenizer, job.rows, np.random.default_rng(seed)):
            candidates = (np.arange(length) < rows.lengths[:, None]) & ~vocabulary.is_special[rows.token_ids]
            masked = None
            if not job.rows.dynamic:
                masked = mask_rows(
                    rows.token_ids,
                    candidates,
                    masking=job.maskings[length],
                    mask_id=vocabulary.mask_id,
                    replacement_ids=vocabulary.replacement_ids,
                    keys=row_keys(seed, 0, np.arange(done, done + len(candidates))),
                    continues=vocabulary.continues[rows.token_ids],
                )
            done += len(candidates)
            tallies.append(
                tally_rows(rows, candidates, masked, unknown_id=tokenizer.unknown_id, mask_id=vocabulary.mask_id)
            )
            yield from serialize_rows(columns_of(rows, masked))


def make_rows(
    texts: TokenizedShard,
    split: str,
    length: int,
    tokenizer: BaseTokenizer,
    options: PretrainingRows,
    rng: np.random.Generator,
) -> Iterator[TokenRows]:
    """The rows of a split of a shard, in batches."""
    documents = texts.splits[split]
    ids = (tokenizer.cls_id, tokenizer.sep_id, tokenizer.pad_id)
    special = SpecialTokens(*ids, tokenizer.between, tokenizer.second_segment)
    short, room = options.short_share, length - tokenizer.special_count(2)
    flat, lay_out = texts.flat, lay_out_pairs
    if options.objective == "next_sentence":
        others = documents
        if split == "validation" and len(documents) == 1:
            # A single held-out document is paired with training documents; training never sees a held-out one.
            others = documents + texts.splits["train"]
        ranges = make_pairs(documents, others, room=room, short_share=short, rng=rng)
    elif options.objective == "sentence_order":
        ranges = make_ordered_pairs(documents, room=room, short_share=short, rng=rng)
    else:
        lay_out = lay_out_texts
        flat, ends, separators = join_documents(texts.flat, documents, tokenizer.sep_id)
        ranges = pack_rows(ends, separators, room=length - 2, short_share=short, rng=rng)
    for start in range(0, len(ranges), _ROWS_AT_ONCE):
        yield lay_out(flat, ranges[start : start + _ROWS_AT_ONCE], length, special)


def columns_of(rows: TokenRows, masked: Masked | None) -> dict[str, Column]:
    """The features of rows; `mask_examples` documents them."""
    token_ids = rows.token_ids if masked is None else masked.token_ids
    columns = {"token_ids": Column(token_ids, rows.lengths), "segment_ids": Column(rows.segment_ids, rows.lengths)}
    if masked is not None:
        predictions = masked.mask_weights.sum(axis=1).astype(np.int64)
        columns["mask_positions"] = Column(masked.mask_positions, predictions)
        columns["mask_ids"] = Column(masked.mask_ids, predictions)
    if rows.labels is not None:
        columns["next_sentence_label"] = Column(rows.labels[:, None], np.ones(len(rows.labels), np.int64))
    return columns
