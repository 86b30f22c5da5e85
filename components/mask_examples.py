"""Corpus and Vocabulary -> PretrainingExamples: rows with masked tokens."""

import dataclasses
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from components.artifacts.standard import Corpus, PretrainingExamples, Vocabulary
from components.beam.engine import BeamOptions, choose_scale, run_over
from components.corpus.shards import read_cut_documents
from components.dsl.component import Input, Local, Output, component
from components.dsl.errors import InputError
from components.dsl.step_folders import report_progress
from components.rows.held_out_documents import choose_cut_documents
from keras_bert.core.checks import check
from keras_bert.options.pretraining import Masking, PretrainingRows

_FEATURES = {
    "token_ids": "int64, (length,): [CLS] A [SEP] B [SEP], or [CLS] A [SEP], not padded",
    "segment_ids": "int64, (length,): 0, and the second text's segment of a pair from its first token on",
}
_MASKS = {
    "mask_positions": "int64, (predictions,): the positions of masked tokens, ascending",
    "mask_ids": "int64, (predictions,): the ids of the masked tokens",
}
_LABELS = {
    "next_sentence": "int64: 0 if B follows A, 1 if it comes from another document",
    "sentence_order": "int64: 0 if B follows A, 1 if A follows B",
}
_TITLES = {"next_sentence": "share of random next sentences", "sentence_order": "share of swapped pairs", "none": ""}


@component(libraries=("tensorflow", "tensorflow-text", "tokenizers", "apache-beam", "numpy"))
def mask_examples(
    corpus: Input[Corpus],
    vocabulary: Input[Vocabulary],
    examples: Output[PretrainingExamples],
    masking: Masking = Masking(),
    rows: PretrainingRows = PretrainingRows(),
    max_length: int = 128,
    seed: int = 0,
    beam: Local[BeamOptions] = BeamOptions(),
) -> None:
    """Makes rows of a corpus and masks tokens; for each shard, writes a file of records a length and split.

    Rows of `rows.short_length` get fewer predictions in proportion. `seed` and the name of the shard seed every random
    choice.

    Raises:
        ValueError: a parameter is out of range.
        InputError: the corpus has fewer than 3 documents, or gives no row for a split.
    """
    check("mask_examples", "max_length", max_length >= 8, "be at least 8", max_length)
    lengths = [max_length] if rows.short_length is None else [rows.short_length, max_length]
    check("mask_examples", "max_length", max_length >= lengths[0], f"be at least short_length={lengths[0]}", max_length)
    documents = corpus.manifest()["counts"]["documents"]
    if documents < 3:
        raise InputError(
            "the corpus must hold at least 3 documents (a blank line ends a document) "
            f"for pairs of sentences and a held-out part, got {documents}"
        )
    from apache_beam import ParDo

    from components.rows.masked_shards import MaskShardFn, ShardJob
    from components.rows.statistics import Tally, add
    from keras_bert.core.folders import TOKENIZER_FILES

    held_out = choose_cut_documents(read_cut_documents(corpus), rows.held_out, documents)
    shards = sorted(str(path) for path in corpus.path.glob("corpus-*.jsonl.gz"))
    report_progress(0, len(shards), "masking shards")
    with tempfile.TemporaryDirectory(dir=examples.path) as scratch:
        folders = str(vocabulary.path), str(examples.path), scratch
        maskings = {length: masking.scaled(length, max_length) for length in lengths}
        scale = choose_scale(beam, corpus.manifest()["counts"]["bytes"], threaded=True)
        job = ShardJob(*folders, maskings, rows, seed, len(shards), scale.threads, held_out)
        run_over(shards, lambda paths: paths | "Mask" >> ParDo(MaskShardFn(job)), beam, scale=scale)
        # `train-128` and the like -> counts.
        tallies: dict[str, Tally] = {}
        for file in Path(scratch).glob("*.json"):
            tallies = {
                name: add([tallies.get(name, {}), tally]) for name, tally in json.loads(file.read_text()).items()
            }
    counts = {name: tally.get("rows", 0) for name, tally in tallies.items()}
    for name, count in counts.items():
        if not count:
            raise InputError(
                f"the corpus must give at least one row for {name.partition('-')[0]}, got none from {documents} "
                "documents; add text, or part it into more documents by blank lines"
            )
    _describe(examples, tallies, maskings, rows)
    if rows.dynamic:
        for name in TOKENIZER_FILES:
            shutil.copyfile(vocabulary.file(name), examples.file(name))
    examples.counts = {split: counts[f"{split}-{max_length}"] for split in ("train", "validation")}


def _describe(
    examples: PretrainingExamples,
    tallies: dict[str, dict[str, Any]],
    maskings: dict[int, Masking],
    rows: PretrainingRows,
) -> None:
    from components.rows.statistics import STATISTICS_FILE, describe
    from keras_bert.data.records import write_features

    features = _FEATURES | ({} if rows.dynamic else _MASKS)
    if rows.objective in _LABELS:
        features["next_sentence_label"] = _LABELS[rows.objective]
    content = {
        "features": features,
        "objective": rows.objective,
        "dynamic": rows.dynamic,
        "compression": rows.compression,
        "lengths": [
            {
                "max_length": length,
                "masking": dataclasses.asdict(masking),
                "counts": {split: tallies[f"{split}-{length}"]["rows"] for split in ("train", "validation")},
            }
            for length, masking in maskings.items()
        ],
    }
    write_features(examples.path, content)
    statistics: dict[str, Any] = {}
    for name in sorted(tallies):
        split, _, length = name.partition("-")
        statistics |= describe(f"{split}, up to {length} tokens", tallies[name], _TITLES[rows.objective])
    examples.file(STATISTICS_FILE).write_text(json.dumps(statistics, indent=1) + "\n")
