"""Rows for next sentence prediction have the distributions of google-research/bert's own. Slow: see below.

Runs create_pretraining_data.py of the checkout that BERT_GOOGLE_CHECKOUT names, on the tokenized documents that ours
gets. What differs by design is stated here as exactly as what agrees. `--log-cli-level=INFO` shows all figures.
"""

import logging
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from benchmarks.harness.texts import load_vocabulary, take
from benchmarks.peers.google_bert import create, write_text
from components.corpus.shards import ShardDocument
from components.rows.masked_shards import make_rows, tokenize_shard
from components.text.sentences import split_sentences
from keras_bert.masking.masks import mask_rows, masking_vocabulary
from keras_bert.masking.row_random import row_keys
from keras_bert.options.pretraining import Masking, PretrainingRows

DATA = Path(os.environ.get("BERT_TEST_DATA", "../shared/data")).absolute()
NOVELS, VOCABULARY = DATA / "corpus" / "novels-20mb.txt", DATA / "vocab" / "bert-base-uncased-vocab.txt"
CHECKOUT = os.environ.get("BERT_GOOGLE_CHECKOUT", "")

MEGABYTES = 2.0
SENTENCES = 20
"""Of a document: some five rows each, so that ends of documents and first rows are many."""
LENGTH = 128
AGREE = 0.001
LOG = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path(CHECKOUT, "create_pretraining_data.py").is_file(), reason="needs BERT_GOOGLE_CHECKOUT"),
    pytest.mark.skipif(not NOVELS.is_file() or not VOCABULARY.is_file(), reason="needs BERT_TEST_DATA"),
]


class Examples(NamedTuple):
    """Padded rows of one side.

    Attributes:
        tokens: (rows, length), with what was hidden put back.
        lengths: (rows,), special tokens included.
        first: (rows,), tokens of A.
        labels: (rows,), 1 for a random B.
        predictions: (rows,).
        fates: predictions under [MASK], under a random token, left in place.
    """

    tokens: np.ndarray
    lengths: np.ndarray
    first: np.ndarray
    labels: np.ndarray
    predictions: np.ndarray
    fates: list[int]


@pytest.fixture(scope="module")
def documents():
    lines = take(NOVELS.read_text().split("\n"), MEGABYTES)
    sentences = [sentence for line in lines for sentence in split_sentences(line)]
    parts = [sentences[start : start + SENTENCES] for start in range(0, len(sentences), SENTENCES)]
    # Sentences that are split again, or joined, would not be the same segments on both sides.
    return ["\n".join(part) for part in parts]


@pytest.fixture(scope="module")
def tokenizer():
    return load_vocabulary(VOCABULARY)


@pytest.fixture(scope="module", params=[0.0, 0.1], ids=["full rows", "a tenth short"])
def both(request, documents, tokenizer, tmp_path_factory):
    folder = tmp_path_factory.mktemp("google")
    write_text(documents, folder / "text.txt")
    records = folder / "rows.tfrecord"
    create(Path(CHECKOUT), folder / "text.txt", VOCABULARY, records, length=LENGTH, short_share=request.param)
    return request.param, read_theirs(records, tokenizer.mask_id), make_ours(documents, tokenizer, request.param)


def read_theirs(records, mask_id):
    sizes = {"input_ids": LENGTH, "input_mask": LENGTH, "segment_ids": LENGTH, "next_sentence_labels": 1}
    sizes |= {"masked_lm_positions": 20, "masked_lm_ids": 20}
    features = {name: tf.io.FixedLenFeature([size], tf.int64) for name, size in sizes.items()}
    features["masked_lm_weights"] = tf.io.FixedLenFeature([20], tf.float32)
    raw = [record.numpy() for record in tf.data.TFRecordDataset(str(records))]
    table = {name: value.numpy() for name, value in tf.io.parse_example(raw, features).items()}
    return describe(
        table["input_ids"],
        table["segment_ids"],
        table["input_mask"].sum(axis=1),
        table["next_sentence_labels"][:, 0],
        (table["masked_lm_positions"], table["masked_lm_ids"], table["masked_lm_weights"] == 1),
        mask_id,
    )


def make_ours(documents, tokenizer, short_share):
    pieces = masking_vocabulary(tokenizer)
    options = PretrainingRows(short_share=short_share)
    texts = tokenize_shard(
        [ShardDocument(str(number), split_sentences(text)) for number, text in enumerate(documents)], tokenizer, 0.0
    )
    made = list(make_rows(texts, "train", LENGTH, tokenizer, options, np.random.default_rng(0)))
    token_ids, segment_ids, lengths, labels = (np.concatenate(part) for part in zip(*made, strict=True))
    masked = mask_rows(
        token_ids,
        (np.arange(LENGTH) < lengths[:, None]) & ~pieces.is_special[token_ids],
        masking=Masking(max_predictions=20),
        mask_id=pieces.mask_id,
        replacement_ids=pieces.replacement_ids,
        keys=row_keys(0, 0, np.arange(len(lengths))),
    )
    hidden = masked.mask_positions, masked.mask_ids, masked.mask_weights == 1
    return describe(masked.token_ids, segment_ids, lengths, labels, hidden, pieces.mask_id)


def describe(token_ids, segment_ids, lengths, labels, hidden, mask_id):
    positions, originals, used = hidden
    rows, slots = np.nonzero(used)
    shown, original = token_ids[rows, positions[rows, slots]], originals[rows, slots]
    covered, kept = int((shown == mask_id).sum()), int((shown == original).sum())
    tokens = np.array(token_ids)
    tokens[rows, positions[rows, slots]] = original
    # A, without [CLS] and its [SEP]; B and its [SEP] are the segment 1, and what ours says of padding is nothing.
    first = lengths - (segment_ids * (np.arange(LENGTH) < lengths[:, None])).sum(axis=1) - 2
    return Examples(tokens, lengths, first, labels, used.sum(axis=1), [covered, len(shown) - covered - kept, kept])


def agree(what, statistic):
    text = f"{what}: statistic {statistic.statistic:.4f}, p {statistic.pvalue:.4f}"
    LOG.info(text)
    assert statistic.pvalue > AGREE, text


def first_rows(examples, documents, tokenizer):
    """Which rows begin a document: those whose A begins with its first tokens."""
    beginnings = tokenizer.tokenize([" ".join(text.split("\n")[:2]) for text in documents]).to_list()
    beginnings_by_text = {tuple(ids[:6]) for ids in beginnings if len(ids) >= 6}
    is_known = np.array([tuple(row) in beginnings_by_text for row in examples.tokens[:, 1:7].tolist()])
    return is_known & (examples.first >= 6)


def test_the_kinds_of_pairs_differ_by_design(both):
    """Theirs gives every segment that is alone a random B, which makes more than half of them; ours tosses a coin."""
    _, theirs, ours = both
    counts = [np.bincount(side.labels, minlength=2) for side in (theirs, ours)]
    shares = [float(part[1] / part.sum()) for part in counts]
    LOG.info(" and ".join(f"{share:.4f} of {part.sum()}" for share, part in zip(shares, counts, strict=True)))
    agree("random B of ours, binomial of one half", stats.binomtest(int(counts[1][1]), int(counts[1].sum())))
    assert shares[0] > 0.51


def test_lengths_of_full_rows(both):
    short_share, theirs, ours = both
    if short_share:
        pytest.skip("theirs draws one length a document, ours one a row: see test_first_rows")
    for what, one, other in [("tokens", theirs.lengths, ours.lengths), ("tokens of A", theirs.first, ours.first)]:
        means = f"means {one.mean():.2f} of {len(one)} rows and {other.mean():.2f} of {len(other)}"
        agree(f"{what}, Kolmogorov-Smirnov: {means}", stats.ks_2samp(one, other))


def test_first_rows(both, documents, tokenizer):
    """Where theirs has just drawn a length, too, short rows are as many and as short."""
    _, theirs, ours = both
    begin = [first_rows(side, documents, tokenizer) for side in (theirs, ours)]
    # Of one that was cut in front nobody can tell that it is a first one; both sides cut alike.
    assert min(part.sum() for part in begin) > len(documents) / 4
    one, other = (side.lengths[part] for side, part in zip((theirs, ours), begin, strict=True))
    means = f"means {one.mean():.2f} of {len(one)} rows and {other.mean():.2f} of {len(other)}"
    agree(f"tokens of first rows, Kolmogorov-Smirnov: {means}", stats.ks_2samp(one, other))


def test_short_rows_differ_by_design(both):
    """One length a document makes a whole document of short rows, which are many: more than a tenth of all rows."""
    short_share, theirs, ours = both
    shares = [float((side.lengths < LENGTH).mean()) for side in (theirs, ours)]
    rows = len(theirs.lengths), len(ours.lengths)
    LOG.info(f"below {LENGTH} tokens: {shares[0]:.4f} of {rows[0]} and {shares[1]:.4f} of {rows[1]}")
    if short_share:
        assert shares[0] > shares[1] + 0.02
        assert rows[0] > rows[1]


def test_what_hides_a_token(both):
    _, theirs, ours = both
    counts = [theirs.fates, ours.fates]
    agree(f"[MASK], another, kept, chi-square: {counts}", stats.chi2_contingency(counts))


def test_predictions_differ_by_their_rounding(both, tokenizer):
    """Theirs rounds 15 % of all tokens to the nearest number; ours 15 % of what may be hidden, up by a coin."""
    _, theirs, ours = both
    nearest = [min(20, max(1, round(0.15 * length))) for length in theirs.lengths.tolist()]
    assert theirs.predictions.tolist() == nearest
    special = np.isin(ours.tokens, tokenizer.special_ids) & (np.arange(LENGTH) < ours.lengths[:, None])
    expected = 0.15 * (ours.lengths - special.sum(axis=1))
    assert (np.abs(ours.predictions - expected) < 1)[expected >= 1].all()
    # How often ours rounds up, against the fractions: a sum of coins that are not alike.
    free = expected >= 1
    fractions = (expected - np.floor(expected))[free]
    up = int((ours.predictions - np.floor(expected))[free].sum())
    score = (up - fractions.sum()) / np.sqrt((fractions * (1 - fractions)).sum())
    p = 2 * stats.norm.sf(abs(score))
    text = f"ours rounded up {up} times, expected {fractions.sum():.1f}: z {score:.2f}, p {p:.4f}"
    means = f"predictions a row {theirs.predictions.mean():.3f} and {ours.predictions.mean():.3f}"
    test = stats.ks_2samp(theirs.predictions, ours.predictions)
    against = f"Kolmogorov-Smirnov {test.statistic:.4f}, p {test.pvalue:.2e}"
    LOG.info(f"{text}; {means}, {against}")
    assert p > AGREE, text
    # Of full rows 19 of 128 tokens against 18.75 on average, 1.3 % more; of all rows hardly more than that.
    shares = [side.predictions.sum() / side.lengths.sum() for side in (theirs, ours)]
    assert 1 < shares[0] / shares[1] < 1.03, shares
