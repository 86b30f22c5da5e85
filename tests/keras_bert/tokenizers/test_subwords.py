"""BPE, unigram and WordPiece with added tokens against `tokenizers` itself."""

import json
import pickle

import numpy as np
import pytest
import tensorflow as tf
import tokenizers

from keras_bert.options.data import NAMED_TOKENS
from keras_bert.tokenizers.eager import EagerSubwords
from keras_bert.tokenizers.fitting import choose_vocabulary, reduce_tokenizer
from keras_bert.tokenizers.loading import load_tokenizer
from keras_bert.tokenizers.subword_copies import byte_characters, find_copy_obstacle
from keras_bert.tokenizers.subwords import SubwordTokenizer
from tests.keras_bert.tokenizers.subwords import ALBERT, GEMMA, LLAMA, MODERN, ROBERTA, TEXTS, content

KINDS = ("bpe", "modern", "unigram", "gemma", "llama", "added")
HARD = [*TEXTS, "", " ", "  two  spaces ", "a<mask>b [MASK] </s>", "\u200b\ufeff", "👩‍🚀 flies", "tab\tand\nline"]
HARD += ["We'LL go\n\n\n\nI'm 12345 !!!\r\n x", "film0x filM0Xs scows cows, cows9 Overs", "a <l> b<R> \t c <L>雨雨"]


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
        # White space in front is not part of a piece; else it is as they say.
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
        assert encoded["segment_ids"].numpy()[row, :length].tolist() == said.type_ids
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


def test_special_tokens_words_and_bytes(both):
    ours, _ = both
    orders = (["<pad>", "<unk>", "<s>", "</s>", "<mask>"], MODERN, ALBERT, GEMMA, LLAMA)
    expected = next(order for order in orders if set(order) <= set(ours.vocabulary))
    bpe = expected == orders[0]
    if ours.kind == "wordpiece":
        assert [ours.vocabulary[number] for number in ours.special_ids] == expected
        assert ours.word_marks().tolist() == [token.startswith("##") for token in ours.vocabulary]
        return
    assert [ours.vocabulary[number] for number in ours.special_ids] == expected
    assert (ours.between, ours.special_count(1), ours.special_count(2)) == ((2, 2, 4) if bpe else (1, 2, 3))
    assert ours.mask == expected[-1]
    assert set(ROBERTA) == set(expected) or not bpe
    marks = ours.word_marks()
    assert not marks[list(ours.special_ids)].any()
    ids = np.asarray(ours.tokenize_words(["cow", "bridge", "oldest"]).flat_values)
    starts = np.asarray(ours.tokenize_words(["cow", "bridge", "oldest"]).row_starts())
    assert (np.flatnonzero(~marks[ids]) == starts).all()
    # As they stand within a text.
    assert ids.tolist() == ours.tokenize(["x cow bridge oldest"]).to_list()[0][-len(ids) :]
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


def test_line_ends_missing_special_tokens_and_changing_segments_are_refused():
    description = json.loads(json.dumps(content("unigram")))
    description["model"]["vocab"].append(["a\nb", -9.0])
    rule = r"must hold no token with a line end, which vocab\.txt cannot hold; got 'a\\nb' as token \d+"
    with pytest.raises(ValueError, match=rule):
        SubwordTokenizer(description)
    broken = json.loads(json.dumps(content("unigram")).replace("[MASK]", "[HIDE]"))
    with pytest.raises(ValueError, match=r"must hold <mask> or \[MASK\] or <\|mask\|>, got \d+ tokens without it"):
        SubwordTokenizer(broken)
    broken = json.loads(json.dumps(content("unigram")))
    broken["post_processor"]["pair"][-1]["SpecialToken"]["type_id"] = 0
    with pytest.raises(ValueError, match=r"must give the type_id 0 to the first text .* got \[0, .*\] for a pair$"):
        SubwordTokenizer(broken)


def big_bird():
    """Unigram with the special tokens of BigBird, of which rows have two."""
    made = json.loads(json.dumps(content("unigram")).replace("<pad>", "<s>"))
    spare = ["</s>", "<pad>"]
    vocabulary = made["model"]["vocab"]
    made["added_tokens"] += [
        {**made["added_tokens"][0], "id": len(vocabulary) + place, "content": token}
        for place, token in enumerate(spare)
    ]
    vocabulary += [[token, 0.0] for token in spare]
    template = made["post_processor"]["special_tokens"]
    template["</s>"] = {"id": "</s>", "ids": [len(vocabulary) - 2], "tokens": ["</s>"]}
    return made


def test_rows_and_fitted_vocabularies_have_the_tokens_of_the_template():
    theirs = tokenizers.Tokenizer.from_str(json.dumps(big_bird()))
    for tokenizer in (SubwordTokenizer(big_bird()), EagerSubwords(big_bird())):
        assert tokenizer.special == ("<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
        row = np.asarray(tokenizer.encode([TEXTS[0]], max_length=100, pad_to_longest=True)["token_ids"])[0]
        assert row.tolist() == theirs.encode(TEXTS[0]).ids
        assert theirs.encode(TEXTS[0]).tokens[0] == "[CLS]"
    whole = SubwordTokenizer(big_bird())
    kept = choose_vocabulary(whole, np.bincount(whole.tokenize(TEXTS[:1]).flat_values, minlength=whole.vocabulary_size))
    fitted = reduce_tokenizer(whole, kept)
    assert fitted.special == whole.special
    assert "</s>" not in fitted.vocabulary
    rows = [
        [tokenizer.vocabulary[number] for number in tokenizer.encode([TEXTS[0]], max_length=60)["token_ids"].numpy()[0]]
        for tokenizer in (whole, fitted)
    ]
    assert rows[0] == rows[1]


def test_named_tokens(tmp_path):
    named = {"mask_token": "</s>", "pad_token": "<pad>", "cls_token": "[CLS]"}
    tokenizer = SubwordTokenizer({**big_bird(), NAMED_TOKENS: named})
    assert tokenizer.special == ("<pad>", "<unk>", "[CLS]", "[SEP]", "</s>")
    tokenizer.save(tmp_path)
    for other in (load_tokenizer(tmp_path), pickle.loads(pickle.dumps(tokenizer))):
        assert other.special == tokenizer.special
    assert tokenizer.definition()[NAMED_TOKENS] == {"mask_token": "</s>"}
    assert NAMED_TOKENS not in SubwordTokenizer(big_bird()).definition()


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"mask_token": "<hide>"}, r"Tokenizer\.vocabulary must hold <hide>, got \d+ tokens without it"),
    ],
)
def test_names_that_the_definition_contradicts(named, message):
    with pytest.raises(ValueError, match=message):
        SubwordTokenizer({**big_bird(), NAMED_TOKENS: named})


def test_rows_have_the_tokens_of_the_definition_whatever_is_named():
    """As in modernbert-ja, whose settings name `<cls>` beside a template of `<s>`."""
    named = {"cls_token": "<s>", "sep_token": "</s>", "unk_token": "[UNK]"}
    assert SubwordTokenizer({**big_bird(), NAMED_TOKENS: named}).special == SubwordTokenizer(big_bird()).special


def test_a_piece_that_a_file_holds_twice():
    """As CamemBERT's `<unk>`: the id of the unknown token is that which the file names."""
    twice = big_bird()
    unknown, pieces = twice["model"]["unk_id"], twice["model"]["vocab"]
    pieces.append(pieces[unknown])
    tokenizer = SubwordTokenizer(twice)
    assert (tokenizer.unknown_id, tokenizer.vocabulary_size) == (unknown, len(pieces))
    assert tokenizer.tokenize(["\u2603"]).to_list()[0][-1] == unknown


def test_pieces_that_look_like_marks_are_read(caplog):
    marked = big_bird()
    marked["model"]["vocab"].append(["<b>", -1.0])
    tokenizer = SubwordTokenizer(marked)
    assert tokenizer.vocabulary_size - 1 in tokenizer.encode(["<b>"], max_length=9)["token_ids"][0]
    assert not caplog.messages
    tokenizer.encode(["[SEP]"], max_length=9)
    assert caplog.messages == ["a text holds [SEP]: it is read as letters, not as the special token of this name"]


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


_REGEX = {"type": "Replace", "pattern": {"Regex": "a+"}, "content": "b"}
_SPLIT = {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False}


@pytest.mark.parametrize("kind", KINDS)
def test_released_kinds_are_known(kind):
    assert find_copy_obstacle(content(kind)) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalizer": {"type": "Nmt"}}, "no normalizer 'Nmt'"),
        ({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Prepend"}]}}, "'Prepend'"),
        ({"normalizer": _REGEX}, "no normalizer Replace of the expression 'a+'"),
        ({"pre_tokenizer": {"type": "Digits"}}, "no pre_tokenizer 'Digits'"),
        ({"pre_tokenizer": {"type": "ByteLevel", "use_regex": False}}, "ByteLevel with use_regex False"),
        ({"pre_tokenizer": _SPLIT}, "no pre_tokenizer Split at {'String': ' '}; they have the expression of Llama 3"),
        ({"model": {**content("unigram")["model"], "byte_fallback": True}}, "no model with byte_fallback True"),
        ({"model": {**content("bpe")["model"], "byte_fallback": True}}, "256 bytes, got none for '<0x00>'"),
        ({"model": {**content("added")["model"], "continuing_subword_prefix": "@"}}, "continuing_subword_prefix '@'"),
        (
            {"model": {**content("llama")["model"], "vocab": {"--": 7, **content("llama")["model"]["vocab"]}}},
            "from 0 on",
        ),
        ({"model": {**content("bpe")["model"], "dropout": 0.1}}, "no model with dropout 0.1"),
        ({"model": {**content("bpe")["model"], "vocab": {}}}, "need a token for each of the 256 bytes"),
    ],
)
def test_an_unknown_part_is_named(change, message):
    assert message in find_copy_obstacle({**content("bpe"), **change})


def test_steps_are_objects_and_bytes_have_the_characters_of_the_library():
    with pytest.raises(ValueError, match="must hold objects for steps, got 7"):
        find_copy_obstacle({**content("bpe"), "normalizer": 7})
    from tokenizers import pre_tokenizers

    assert sorted(byte_characters()) == sorted(pre_tokenizers.ByteLevel.alphabet())
