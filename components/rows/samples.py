"""A few rows for a person to look at: their pieces, and what stood where some are hidden."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.data.records import read_records
from keras_bert.masking.masks import Pieces, mask_rows
from keras_bert.masking.row_random import row_keys
from keras_bert.options.masking import Masking
from keras_bert.options.pretraining_rows import PretrainingRows
from keras_bert.tokenizers.base import BaseTokenizer

SAMPLES_FILE = "samples.json"
# Few enough to be read.
_ROWS = 6


def sample_rows(
    file: Path, tokenizer: BaseTokenizer, pieces: Pieces, masking: Masking, rows: PretrainingRows
) -> list[dict[str, Any]]:
    """The first rows of a file of records: `pieces` as the model sees them, `hidden`, and `label` of a pair, else None.

    Args:
        file: of rows for pre-training.
        tokenizer: of the rows.
        pieces: of the tokenizer.
        masking: which tokens to hide where `rows.dynamic` leaves that to the reader; as one of its epochs might.
        rows: how they were made.

    Returns:
        A dict a row; `hidden` is a list of [place in `pieces`, the piece that stood there].
    """
    samples = []
    for number, record in enumerate(read_records([str(file)], rows.compression).take(_ROWS)):
        found = tf.train.Example.FromString(record.numpy()).features.feature
        row = {name: np.array(feature.int64_list.value) for name, feature in found.items()}
        ids, places, were = row["token_ids"], row.get("mask_positions"), row.get("mask_ids")
        if places is None or were is None:
            masked = mask_rows(
                ids[None],
                ~pieces.is_special[ids[None]],
                masking=masking,
                mask_id=pieces.mask_id,
                replacement_ids=pieces.replacement_ids,
                keys=row_keys(0, 0, np.array([number])),
                continues=pieces.continues[ids[None]],
            )
            is_used = masked.mask_weights[0] == 1
            ids, places, were = masked.token_ids[0], masked.mask_positions[0][is_used], masked.mask_ids[0][is_used]
        label = row.get("next_sentence_label")
        samples.append(
            {
                "pieces": [tokenizer.vocabulary[each] for each in ids],
                "hidden": [[int(place), tokenizer.vocabulary[was]] for place, was in zip(places, were, strict=True)],
                "label": None if label is None else int(label[0]),
            }
        )
    return samples
