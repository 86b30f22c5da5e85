"""Sample rows for people to read: their tokens, and the original tokens under the masks."""

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from keras_bert.data.records import read_serialized
from keras_bert.masking.masks import MaskingVocabulary, mask_rows
from keras_bert.masking.row_random import row_keys
from keras_bert.options.pretraining import Masking, PretrainingRows
from keras_bert.tokenizers.base import BaseTokenizer

SAMPLES_FILE = "samples.json"
_SAMPLES = 6


def sample_rows(
    file: Path, tokenizer: BaseTokenizer, vocabulary: MaskingVocabulary, masking: Masking, rows: PretrainingRows
) -> list[dict[str, Any]]:
    """Reads the first rows of a record file as tokens.

    Where `rows.dynamic` leaves masking to training, the rows are masked as one epoch of it might.
    A row has `pieces`, the tokens that the model sees; `hidden`, a list of [index in `pieces`, original token]; and the
    `label` of a pair, else None.
    """
    samples = []
    for number, record in enumerate(read_serialized([str(file)], rows.compression).take(_SAMPLES)):
        features = tf.train.Example.FromString(record.numpy()).features.feature
        row = {name: np.array(feature.int64_list.value) for name, feature in features.items()}
        ids, positions, originals = row["token_ids"], row.get("mask_positions"), row.get("mask_ids")
        if positions is None or originals is None:
            masked = mask_rows(
                ids[None],
                ~vocabulary.is_special[ids[None]],
                masking=masking,
                mask_id=vocabulary.mask_id,
                replacement_ids=vocabulary.replacement_ids,
                keys=row_keys(0, 0, np.array([number])),
                continues=vocabulary.continues[ids[None]],
            )
            is_used = masked.mask_weights[0] == 1
            ids = masked.token_ids[0]
            positions, originals = masked.mask_positions[0][is_used], masked.mask_ids[0][is_used]
        label = row.get("next_sentence_label")
        samples.append(
            {
                "pieces": [tokenizer.vocabulary[token_id] for token_id in ids],
                "hidden": [
                    [int(position), tokenizer.vocabulary[original]]
                    for position, original in zip(positions, originals, strict=True)
                ],
                "label": None if label is None else int(label[0]),
            }
        )
    return samples
