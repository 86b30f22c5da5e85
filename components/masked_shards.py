"""One shard of a corpus -> one shard of masked sentence pairs for each split."""

import dataclasses
import hashlib
import json
import math
import uuid
from pathlib import Path

import apache_beam as beam
import numpy as np
from numpy.typing import NDArray

from components.ingest_corpus import read_shard
from components.local_beam import report_unit
from components.sentence_pairs import Document, Pair, make_pairs, split_sentences
from keras_bert.config import Masking
from keras_bert.masking import Masked, mask_tokens
from keras_bert.records import serialize, write_records
from keras_bert.tokenizer import Tokenizer

# Devlin et al. 2019, appendix A.2: 10 % of the steps are on shorter sequences; here that share of the pairs.
_SHORT_SHARE = 0.1
_ROWS_AT_ONCE = 4096


@dataclasses.dataclass(frozen=True)
class ShardJob:
    """What every shard is made with.

    Attributes:
        tokenizer: the folder of the Vocabulary.
        output: where the shards go.
        scratch: where they are written before they are renamed; on the same file system.
        shards: how many there are.
    """

    tokenizer: str
    output: str
    scratch: str
    masking: Masking
    max_length: int
    held_out: float
    duplication: int
    seed: int
    shards: int


class MaskShardFn(beam.DoFn):
    """Writes the examples of a shard; keeps the tokenizer between shards."""

    def __init__(self, job: ShardJob) -> None:
        self.job = job

    def setup(self) -> None:
        """Loads the tokenizer once a worker."""
        self.tokenizer = Tokenizer.load(self.job.tokenizer)

    def process(self, path: str) -> None:
        """Makes the shard at `path`."""
        write_shard(Path(path), self.tokenizer, self.job)
        report_unit(self.job.scratch, Path(path).name, self.job.shards, "masking shards")


def write_shard(path: Path, tokenizer: Tokenizer, job: ShardJob) -> None:
    """Writes `train-*` and `validation-*` records of a corpus shard, and their number to the scratch folder."""
    flat, train, validation = tokenize_shard(read_shard(path.read_bytes()), tokenizer, job.held_out)
    place = path.name.split(".")[0].removeprefix("corpus-")
    # A lone held-out document meets training documents; training never meets a held-out one.
    partners = {"train": train, "validation": validation if len(validation) > 1 else validation + train}
    counts = {}
    for split, documents in (("train", train), ("validation", validation)):
        records = []
        for copy in range(job.duplication if split == "train" else 1):
            rng = np.random.default_rng(_seed(f"{job.seed}/{place}/{split}/{copy}"))
            room = job.max_length - 3
            pairs = make_pairs(documents, partners[split], room=room, short_share=_SHORT_SHARE, rng=rng)
            for start in range(0, len(pairs), _ROWS_AT_ONCE):
                records += serialize_pairs(pairs[start : start + _ROWS_AT_ONCE], flat, tokenizer, job, rng)
        temporary = Path(job.scratch) / uuid.uuid4().hex
        counts[split] = write_records(temporary, records)
        temporary.rename(Path(job.output) / f"{split}-{place}.tfrecord")
    temporary = Path(job.scratch) / uuid.uuid4().hex
    temporary.write_text(json.dumps(counts))
    temporary.rename(Path(job.scratch) / f"{place}.json")


def tokenize_shard(
    documents: list[tuple[str, str]], tokenizer: Tokenizer, held_out: float
) -> tuple[NDArray[np.int32], list[Document], list[Document]]:
    """All tokens of a shard in one array, and the documents of train and validation as ranges of it.

    Held out are the documents with the smallest hashes of their ids, but at least two stay for training.
    """
    sentences = [split_sentences(text) for _, text in documents]
    flat_sentences = [sentence for part in sentences for sentence in part]
    pieces = tokenizer.tokenize(flat_sentences)
    bounds = pieces.row_splits.numpy().astype(np.int64)
    held = min(math.ceil(held_out * len(documents)), max(0, len(documents) - 2))
    ranked = sorted(range(len(documents)), key=lambda number: _seed(documents[number][0]))
    validation = set(ranked[:held])
    splits: tuple[list[Document], list[Document]] = ([], [])
    start = 0
    for number, part in enumerate(sentences):
        # A sentence of nothing but characters that the tokenizer drops has no tokens and is no segment.
        own = np.unique(bounds[start : start + len(part) + 1])
        start += len(part)
        if len(own) > 1:
            splits[number in validation].append(Document(own))
    return pieces.flat_values.numpy(), *splits


def serialize_pairs(
    pairs: list[Pair], flat: NDArray[np.int32], tokenizer: Tokenizer, job: ShardJob, rng: np.random.Generator
) -> list[bytes]:
    """Records of pairs: `[CLS] A [SEP] B [SEP]` with hidden tokens, without padding."""
    ranges = np.array(pairs, np.int64)
    first, second = ranges[:, 1] - ranges[:, 0], ranges[:, 3] - ranges[:, 2]
    lengths = first + second + 3
    token_ids = np.full((len(pairs), job.max_length), tokenizer.pad_id, np.int32)
    for row, (pair, size) in enumerate(zip(pairs, first, strict=True)):
        token_ids[row, 1 : 1 + size] = flat[pair.first_start : pair.first_end]
        token_ids[row, 2 + size : lengths[row] - 1] = flat[pair.second_start : pair.second_end]
    rows = np.arange(len(pairs))
    token_ids[:, 0] = tokenizer.cls_id
    token_ids[rows, first + 1] = token_ids[rows, lengths - 1] = tokenizer.sep_id
    places = np.arange(job.max_length)
    segment_ids = (places > (first + 1)[:, None]).astype(np.int32)
    special = np.array(tokenizer.special_ids, np.int32)
    masked = mask_tokens(
        token_ids,
        (places < lengths[:, None]) & ~np.isin(token_ids, special),
        masking=job.masking,
        mask_id=tokenizer.mask_id,
        replacement_ids=np.setdiff1d(np.arange(tokenizer.vocabulary_size, dtype=np.int32), special),
        rng=rng,
    )
    return [
        _serialize_row(masked, segment_ids, row, int(length), pair.is_random)
        for row, (length, pair) in enumerate(zip(lengths, pairs, strict=True))
    ]


def _serialize_row(masked: Masked, segment_ids: NDArray[np.int32], row: int, length: int, is_random: int) -> bytes:
    predictions = int(masked.mask_weights[row].sum())
    return serialize(
        {
            "token_ids": masked.token_ids[row, :length].tolist(),
            "segment_ids": segment_ids[row, :length].tolist(),
            "mask_positions": masked.mask_positions[row, :predictions].tolist(),
            "mask_ids": masked.mask_ids[row, :predictions].tolist(),
            "next_sentence_label": [is_random],
        }
    )


def _seed(key: str) -> int:
    return int.from_bytes(hashlib.blake2b(key.encode(), digest_size=8).digest(), "big")
