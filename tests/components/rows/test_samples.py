"""Rows for a person, against the records that they were written as."""

import numpy as np
import pytest

from components.rows.samples import sample_rows
from keras_bert.data.records import serialize, write_records
from keras_bert.masking.masks import masking_vocabulary
from keras_bert.options.pretraining import Masking, PretrainingRows
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

# [PAD] 0, [UNK] 1, [CLS] 2, [SEP] 3, [MASK] 4, a 5, b 6, c 7, ##b 8
TOKENIZER = Tokenizer((*SPECIAL_TOKENS, *"abc", "##b"), lowercase=True)


def sampled(folder, *records, **rows):
    file = folder / "train.tfrecord"
    options = PretrainingRows(**rows)
    write_records(file, map(serialize, records), compression=options.compression)
    return sample_rows(file, TOKENIZER, masking_vocabulary(TOKENIZER), Masking(rate=0.5, max_predictions=3), options)


@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_hidden_pieces_stand_beside_what_is_seen(tmp_path, compression):
    row = {
        "token_ids": [2, 4, 8, 3, 7, 3],
        "segment_ids": [0, 0, 0, 0, 1, 1],
        "mask_positions": [1, 4],
        "mask_ids": [5, 7],
        "next_sentence_label": [1],
    }
    assert sampled(tmp_path, row, compression=compression) == [
        {"pieces": ["[CLS]", "[MASK]", "##b", "[SEP]", "c", "[SEP]"], "hidden": [[1, "a"], [4, "c"]], "label": 1}
    ]


def test_rows_that_are_masked_by_the_reader_are_masked_once_here(tmp_path):
    ids = [2, 5, 6, 7, 5, 6, 7, 3]
    rows = [{"token_ids": ids, "segment_ids": [0] * 8} for _ in range(9)]
    sampled_rows = sampled(tmp_path, *rows, dynamic=True, objective="none")
    assert len(sampled_rows) == 6, "few enough to be read"
    for row in sampled_rows:
        assert len(row["hidden"]) == 3
        assert row["label"] is None
        places = [place for place, _ in row["hidden"]]
        assert [was for _, was in row["hidden"]] == [TOKENIZER.vocabulary[ids[place]] for place in places]
        others = np.setdiff1d(range(8), places)
        assert [row["pieces"][place] for place in others] == [TOKENIZER.vocabulary[ids[place]] for place in others]
    assert len({str(row) for row in sampled_rows}) > 1, "each has choices of its own"
