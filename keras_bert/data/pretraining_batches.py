"""Batches for pre-training, with tokens that were masked when rows were written, or are masked in every epoch."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from keras_bert.core.checks import check
from keras_bert.core.digests import digest
from keras_bert.core.folders import VOCABULARY_FILE
from keras_bert.data.batches import INTEGER, INTEGERS, PAIR, Batch, Batches, Parse, pad, pad_pair, plan_batches
from keras_bert.data.record_store import RecordStore
from keras_bert.data.records import RecordError, find_records, read_features
from keras_bert.masking.masks import mask_rows, masking_vocabulary
from keras_bert.masking.row_random import row_keys
from keras_bert.options.pretraining import Masking
from keras_bert.tokenizers.loading import load_tokenizer


class DynamicMasking:
    """Masks batches of a folder's rows in a `tf.data` pipeline.

    The choice depends on the seed, the epoch and the index of the row, not on the batch, its length or the thread.
    """

    def __init__(self, folder: str | os.PathLike[str], masking: Masking, seed: int) -> None:
        self._tokens = masking_vocabulary(load_tokenizer(folder))
        self._vocabulary = digest([(Path(folder) / VOCABULARY_FILE).read_bytes()])
        self._masking, self._seed = masking, seed

    def identity(self) -> dict[str, Any]:
        """The plain values that the choices depend on, besides epoch and row."""
        return {"masking_seed": self._seed, "vocabulary": self._vocabulary}

    def __call__(self, batch: Batch, epochs: tf.Tensor, indices: tf.Tensor) -> Batch:
        """Masks token_ids (batch, length) int32 by the epoch and the index in the files of each row, both (batch,).

        Further features of the batch stay.
        """
        kinds = [tf.int32, tf.int32, tf.int32, tf.float32]
        shape = batch["token_ids"].shape
        masked = tf.numpy_function(
            self._mask, [batch["token_ids"], batch["padding_mask"], epochs, indices], kinds, stateful=False
        )
        wide = (shape[0], self._masking.max_predictions)
        names = ("token_ids", "mask_positions", "mask_ids", "mask_weights")
        shapes = (shape, wide, wide, wide)
        return batch | {
            name: tf.ensure_shape(values, static) for name, values, static in zip(names, masked, shapes, strict=True)
        }

    def _mask(
        self,
        token_ids: NDArray[np.int32],
        padding_mask: NDArray[np.int32],
        epochs: NDArray[np.int64],
        indices: NDArray[np.int64],
    ) -> tuple[Any, ...]:
        return mask_rows(
            token_ids,
            (padding_mask == 1) & ~self._tokens.is_special[token_ids],
            masking=self._masking,
            mask_id=self._tokens.mask_id,
            replacement_ids=self._tokens.replacement_ids,
            keys=row_keys(self._seed, epochs, indices),
            continues=self._tokens.continues[token_ids],
        )


def pretraining_batches(
    folder: str | os.PathLike[str],
    split: str,
    batch_size: int,
    *,
    length: int | None = None,
    seed: int = 0,
    shuffle: bool = False,
    bucket_boundaries: Sequence[int] = (),
) -> Batches:
    """Batches of rows with masked tokens, as `mask_examples` writes them.

    Each batch has token_ids, segment_ids, padding_mask (batch, length), mask_positions, mask_ids, mask_weights (batch,
    max_predictions) and, if rows are pairs, next_sentence_label (batch,); mask_weights are float32, all others
    int32.

    Rows that were written without masked tokens are masked here, differently in every epoch; the choice depends on the
    seed, the epoch and the row.

    `folder` has `features.json` and `{split}-{length}-*.tfrecord`; without a length the longest rows are read. The rows
    of a batch are padded to the same of `bucket_boundaries`, ascending lengths in tokens, else to the longest length.
    """
    content = read_features(folder)
    descriptions = {entry["max_length"]: entry for entry in content["lengths"]}
    longest = max(descriptions) if length is None else length
    check("dataset", "length", longest in descriptions, f"be one of {list(descriptions)}", length)
    masking = Masking(**descriptions[longest]["masking"])
    records = RecordStore(find_records(folder, f"{split}-{longest}-*.tfrecord"), content["compression"])
    written = descriptions[longest]["counts"][split]
    if len(records) != written:
        raise RecordError(f"the {split}-{longest} files of {folder} must hold {written} records, found {len(records)}")
    parse = _parse_rows(content, masking)
    reading = {"objective": content["objective"], "masking": dataclasses.asdict(masking)}
    if content["dynamic"]:
        hiding = DynamicMasking(folder, masking, seed)
        plain, reading = parse, reading | hiding.identity()

        def parse(records: tf.Tensor, rows: tf.Tensor, epochs: tf.Tensor, width: tf.Tensor | int) -> Batch:
            return hiding(plain(records, rows, epochs, width), epochs, rows)

    where = f"{split} of {folder}"
    return plan_batches(
        records, where, parse, batch_size, longest, bucket_boundaries, reading, shuffle=shuffle, seed=seed
    )


def _parse_rows(content: dict[str, Any], masking: Masking) -> Parse:
    """The function that parses records into a batch, as `features.json` describes them."""
    is_labelled = content["objective"] != "none"
    features = PAIR | ({"next_sentence_label": INTEGER} if is_labelled else {})
    if not content["dynamic"]:
        features |= {"mask_positions": INTEGERS, "mask_ids": INTEGERS}

    def parse(records: tf.Tensor, _: tf.Tensor, __: tf.Tensor, width: tf.Tensor | int) -> Batch:
        rows = tf.io.parse_example(records, features)
        batch = pad_pair(rows, width)
        if not content["dynamic"]:
            for name in ("mask_positions", "mask_ids"):
                batch[name] = pad(rows[name], masking.max_predictions)
            batch["mask_weights"] = tf.cast(pad(tf.ones_like(rows["mask_ids"]), masking.max_predictions), tf.float32)
        if is_labelled:
            batch["next_sentence_label"] = tf.cast(rows["next_sentence_label"], tf.int32)
        return batch

    return parse
