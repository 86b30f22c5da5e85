"""Rows to pre-train on, as small as can be."""

import dataclasses

import numpy as np

from keras_bert.data.records import serialize, write_features, write_records
from keras_bert.options.pretraining import Masking

MASKING = Masking(max_predictions=3)


def describe(folder, *, objective="next_sentence", dynamic=False, compression="none", train=40, masking=MASKING):
    entry = {"max_length": 16, "masking": dataclasses.asdict(masking), "counts": {"train": train}}
    content = {"objective": objective, "dynamic": dynamic, "compression": compression, "lengths": [entry]}
    write_features(folder, content)


def write_dynamic_rows(folder, seed=0):
    """Rows of 16 tokens or fewer, each of one piece of its own; no pairs, nothing hidden."""
    for shard in range(2):
        rows = [
            serialize({"token_ids": [2, *[10 + number] * (8 + number % 7), 3], "segment_ids": [0] * (10 + number % 7)})
            for number in np.roll(np.arange(40), seed)[shard * 20 : shard * 20 + 20].tolist()
        ]
        write_records(folder / f"train-16-0000{shard}-of-00002.tfrecord", rows, compression="gzip")
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *[f"a{number}" for number in range(60)]]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    (folder / "tokenizer.json").write_text('{"lowercase": true}')
    describe(folder, objective="none", dynamic=True, compression="gzip")
