"""Byte-level BPE and unigram against `tokenizers` itself."""

import json
import pickle

import numpy as np
import pytest
import tensorflow as tf
import tokenizers

from keras_bert.tokenizers.loading import load_tokenizer
from keras_bert.tokenizers.subwords import SubwordTokenizer
from tests.keras_bert.tokenizers.subwords import ALBERT, MODERN, ROBERTA, TEXTS, content

KINDS = ("bpe", "modern", "unigram")
HARD = [*TEXTS, "", " ", "  two  spaces ", "a<mask>b [MASK] </s>", "\u200b\ufeff", "👩‍🚀 flies", "tab\tand\nline"]


@pytest.fixture(scope="module", params=KINDS)
def both(request):
    """Ours, and the one that it stands on; texts are text in both."""
    theirs = tokenizers.Tokenizer.from_str(json.dumps(content(request.param)))
    theirs.encode_special_tokens = True
    return SubwordTokenizer(content(request.param)), theirs


def test_ids_are_those_of_the_reference(both):
    ours, theirs = both
    expected = [theirs.encode(text, add_special_tokens=False).ids for text in HARD]
    assert ours.tokenize(HARD).to_list() == expected


def test_pieces_stand_where_their_offsets_say(both):
    ours, theirs = both
    ids, starts, ends = ours.tokenize_with_offsets(HARD)
    assert ids.to_list() == ours.tokenize(HARD).to_list()
    for text, first, last in zip(HARD, starts.to_list(), ends.to_list(), strict=True):
        said = theirs.encode(text, add_special_tokens=False).offsets
        # White space in front is no part of a piece; else it is as they say.
        assert [text[start:end] for start, end in zip(first, last, strict=True)] == [
            text[start:end].lstrip() for start, end in said
        ]
        assert last == [end for _, end in said]


@pytest.mark.parametrize("pairs", [False, True])
def test_rows_are_those_of_the_reference(both, pairs):
    ours, theirs = both
    theirs = tokenizers.Tokenizer.from_str(theirs.to_str())
    firsts, seconds = list(TEXTS), list(reversed(TEXTS))
    encoded = ours.encode(firsts, seconds if pairs else None, max_length=200, pad_to_longest=True)
    for row, text in enumerate(firsts):
        said = theirs.encode(text, seconds[row]) if pairs else theirs.encode(text)
        length = int(encoded["padding_mask"].numpy()[row].sum())
        assert encoded["token_ids"].numpy()[row, :length].tolist() == said.ids
        assert set(encoded["token_ids"].numpy()[row, length:].tolist()) <= {ours.pad_id}


def test_a_long_pair_is_cut_where_a_short_one_would_be(both):
    ours, _ = both
    encoded = ours.encode([TEXTS[0]], ["old"], max_length=12)
    ids = encoded["token_ids"].numpy()[0].tolist()
    assert len(ids) == 12
    assert ids[0] == ours.cls_id
    assert ids[-1] == ours.sep_id
    assert ids.count(ours.sep_id) == 1 + ours.between
    with pytest.raises(ValueError, match=f"max_length must be at least {4 + ours.between}, got {3 + ours.between}"):
        ours.encode([TEXTS[0]], ["old"], max_length=3 + ours.between)


def test_special_tokens(both):
    ours, _ = both
    orders = (["<pad>", "<unk>", "<s>", "</s>", "<mask>"], MODERN, ALBERT)
    expected = next(order for order in orders if set(order) <= set(ours.vocabulary))
    bpe = expected == orders[0]
    assert [ours.vocabulary[number] for number in ours.special_ids] == expected
    assert (ours.between, ours.special_count(1), ours.special_count(2)) == ((2, 2, 4) if bpe else (1, 2, 3))
    assert ours.mask == expected[-1]
    assert set(ROBERTA) == set(expected) or not bpe


def test_words_know_where_they_begin(both):
    ours, _ = both
    marks = ours.word_marks()
    assert not marks[list(ours.special_ids)].any()
    ids = np.asarray(ours.tokenize_words(["cow", "bridge", "oldest"]).flat_values)
    starts = np.asarray(ours.tokenize_words(["cow", "bridge", "oldest"]).row_starts())
    assert (np.flatnonzero(~marks[ids]) == starts).all()
    # As they stand within a text.
    assert ids.tolist() == ours.tokenize(["x cow bridge oldest"]).to_list()[0][-len(ids) :]


def test_pieces_stand_for_bytes(both):
    ours, _ = both
    text = " Überall Regen: 雨! Café"  # nothing of it is changed or left out
    pieces = [ours.vocabulary[number] for number in ours.tokenize([text]).to_list()[0]]
    assert sum(map(ours.count_bytes, pieces)) == len(text.encode())


def test_saved_loaded_and_pickled(both, tmp_path):
    ours, _ = both
    ours.save(tmp_path)
    for other in (load_tokenizer(tmp_path), pickle.loads(pickle.dumps(ours))):
        assert other.vocabulary == ours.vocabulary
        assert other.tokenize(HARD).to_list() == ours.tokenize(HARD).to_list()
    (tmp_path / "vocab.txt").write_text("other\n")
    with pytest.raises(ValueError, match=r"must hold the tokens of vocab\.txt beside it"):
        load_tokenizer(tmp_path)


def test_in_a_graph_and_on_bytes(both):
    ours, _ = both
    tokens = list(tf.data.Dataset.from_tensor_slices(list(TEXTS)).batch(2).map(ours.tokenize))
    assert [row for batch in tokens for row in batch.to_list()] == ours.tokenize(TEXTS).to_list()
    assert ours.tokenize([b"a \xff b"]).to_list() == ours.tokenize(["a \ufffd b"]).to_list()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"model": {"type": "WordLevel", "vocab": {}, "unk_token": "x"}},
            "model.type must be one of .*got 'WordLevel'",
        ),
        ({"model": None}, "model.type must be one of .*got None"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "a BPE must work on bytes"),
        ({"post_processor": None}, "post_processor must put one token before a text"),
        ({"version": "77"}, "must be what `tokenizers` reads"),
    ],
)
def test_descriptions_that_are_of_no_use(change, message):
    with pytest.raises(ValueError, match=message):
        SubwordTokenizer({**content("bpe"), **change})


def test_a_piece_with_a_line_end_is_refused():
    description = json.loads(json.dumps(content("unigram")))
    description["model"]["vocab"].append(["a\nb", -9.0])
    rule = r"must hold no token with a line end, which vocab\.txt cannot hold; got 'a\\nb' as token \d+"
    with pytest.raises(ValueError, match=rule):
        SubwordTokenizer(description)


def test_a_special_token_is_missing():
    broken = json.loads(json.dumps(content("unigram")).replace("[MASK]", "[HIDE]"))
    with pytest.raises(ValueError, match=r"must hold <mask> or \[MASK\], got \d+ tokens without it"):
        SubwordTokenizer(broken)


@pytest.mark.parametrize(("wrapped", "typed"), [(False, True), (True, True), (False, False)])
def test_a_template_names_a_token_that_it_does_not_define(wrapped, typed):
    broken = json.loads(json.dumps(content("unigram")))
    template = broken["post_processor"]
    if not typed:
        del template["type"]
    template["special_tokens"]["[SEQ]"] = template["special_tokens"].pop("[SEP]")
    if wrapped:
        broken["post_processor"] = {"type": "Sequence", "processors": [template]}
    message = r"^tokenizer\.json: post_processor\.special_tokens must hold '\[SEP\]', got \['\[CLS\]', '\[SEQ\]'\]$"
    with pytest.raises(ValueError, match=message):
        SubwordTokenizer(broken)
