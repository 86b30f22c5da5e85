import json

import pytest
import tokenizers

from keras_bert.interop.vocabularies import (
    CheckpointVocabulary,
    read_definition,
    read_vocabulary,
    write_settings,
    write_vocabulary_file,
)
from keras_bert.tokenizers.eager import EagerSubwords
from tests.keras_bert.interop.checkpoints import GOLDEN, PIECES, change_json, copy_golden


@pytest.fixture
def folder(tmp_path):
    """As transformers 5 writes a tokenizer: no vocab.txt."""
    return copy_golden("hugging_face_bert_model", tmp_path)


@pytest.fixture
def written(tmp_path):
    write_vocabulary_file(tmp_path / "vocab.txt", PIECES)
    write_settings(tmp_path, False, 20, PIECES)
    return tmp_path


def change_part(folder, part, **changes):
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    change_json(path, **{part: {**(content[part] or {}), **changes}})


def test_accents_that_are_kept(written):
    """As in an uncased BERT for German."""
    write_settings(written, "keep_accents", 20, PIECES)
    assert read_vocabulary(written) == CheckpointVocabulary(PIECES, "keep_accents", 20)


def test_what_is_written_is_read(written):
    assert read_vocabulary(written) == CheckpointVocabulary(PIECES, False, 20)
    (written / "vocab.txt").write_bytes("\r\n".join(PIECES).encode())
    assert read_vocabulary(written).tokens == PIECES
    content = {"unk_token": "[UNK]", "cls_token": {"content": "[CLS]"}, "additional_special_tokens": []}
    (written / "special_tokens_map.json").write_text(json.dumps(content))
    assert read_vocabulary(written).tokens == PIECES


def test_a_vocabulary_inside_tokenizer_json(folder):
    vocabulary = read_vocabulary(folder)
    assert vocabulary.tokens[:6] == ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the")
    assert len(vocabulary.tokens) == 59
    assert vocabulary[1:] == (True, None)
    (folder / "tokenizer_config.json").unlink()
    assert read_vocabulary(folder) == read_vocabulary(GOLDEN / folder.name)


SETTINGS, PARTS, LINES = "tokenizer_config.json", "tokenizer.json", "vocab.txt"
NO_ID = r"added_tokens_decoder of .* must hold tokens with a content and an id: "
UNKNOWN = r"unk_token must be '\[UNK\]', got '<unk>'"
OTHER_CLASS = "tokenizer_class must be one of .*, got 'BertJapaneseTokenizer'"


@pytest.mark.parametrize(
    ("file", "change", "message"),
    [
        (SETTINGS, {"truncation_side": "left"}, "truncation_side must be 'right', got 'left'"),
        (SETTINGS, {"strip_accents": True}, "strip_accents must be null or false where text is not lowercased, got tr"),
        (SETTINGS, {"tokenizer_class": "BertJapaneseTokenizer"}, OTHER_CLASS),
        (SETTINGS, {"word_tokenizer_type": "mecab"}, "must be 'basic', got 'mecab', which is not supported"),
        (SETTINGS, {"subword_tokenizer_type": "character"}, "subword_tokenizer_type must be 'wordpiece', got 'charact"),
        (SETTINGS, {"unk_token": "<unk>"}, UNKNOWN),
        (SETTINGS, {"unk_token": {"content": "<unk>"}}, UNKNOWN),
        *(
            (SETTINGS, {"model_max_length": said}, f"model_max_length must be .* of at least 3, got {said!r}")
            for said in ("512", True, 20.5, 2, 0)
        ),
        (SETTINGS, {"do_lower_case": "false"}, "lowercasing must be true or false, got 'false'"),
        *(
            (SETTINGS, {"added_tokens_decoder": added}, NO_ID)
            for added in (["x"], {"9": 3}, {"x": {"content": "y"}}, {"9": {"special": False}})
        ),
        ("special_tokens_map.json", {"unk_token": "<unk>"}, UNKNOWN),
        ("special_tokens_map.json", {"cls_token": {"content": "<s>"}}, r"cls_token must be '\[CLS\]', got '<s>'"),
        ("special_tokens_map.json", {"sep_token": 3}, "sep_token must hold strings or objects with a content, got 3"),
        (PARTS, {"lowercase": True}, "must describe its model; it is not a tokenizer of Hugging Face's BERT"),
        (PARTS, {"model": []}, r"must describe its model; .*, got \[\]"),
        (LINES, "[PAD]\né\n".encode("latin-1"), "must hold UTF-8: .*; likely it was saved in another encoding"),
        (LINES, "\ufeff[PAD]\n".encode(), "must begin with a token, got a byte order mark"),
        (LINES, b"version https://git-lfs.github.com/spec/v1\n", "on each line; it is a Git LFS pointer: run `git lf"),
        (LINES, b"[PAD]\n[UNK]\n\n", "line 3 must hold a token, got a blank line"),
    ],
)
def test_a_file_that_the_tokenizer_does_not_follow(file, change, message, written):
    path = written / file
    if isinstance(change, bytes):
        path.write_bytes(change)
    else:
        held = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**held, **change}))
    with pytest.raises(ValueError, match=message) as refused:
        (read_definition if message == NO_ID else read_vocabulary)(written)
    assert file in str(refused.value)


def test_a_class_that_only_the_configuration_names(written):
    change_json(written / SETTINGS, tokenizer_class=None)
    (written / "config.json").write_text('{"tokenizer_class": "BertJapaneseTokenizer"}')
    with pytest.raises(ValueError, match=OTHER_CLASS):
        read_vocabulary(written)


@pytest.mark.parametrize(
    ("part", "changes", "message"),
    [
        ("model", {"type": "BPE"}, "type must be 'WordPiece', got 'BPE'"),
        ("model", {"continuing_subword_prefix": "@@"}, "continuing_subword_prefix must be '##', got '@@'"),
        ("model", {"vocab": {"a": 0, "b": 2}}, "model.vocab must map tokens to the ids from 0 on, each once"),
        ("model", {"vocab": {"a": 0, "b": "1"}}, "model.vocab must map tokens to the ids"),
        ("truncation", {"direction": "Left"}, "truncation must be null or have .*'Right', got {'direction': 'Left'}"),
    ],
)
def test_parts_of_tokenizers_that_are_not_berts(part, changes, message, folder):
    change_part(folder, part, **changes)
    with pytest.raises(ValueError, match=f"tokenizer.json.*{message}"):
        read_vocabulary(folder)


@pytest.mark.parametrize("kind", ["BPE", "Unigram"])
def test_texts_that_are_truncated_at_their_start(tmp_path, kind):
    (tmp_path / PARTS).write_text(json.dumps({"model": {"type": kind}, "truncation": {"direction": "Left"}}))
    with pytest.raises(ValueError, match="truncation must be null or have the direction 'Right', got "):
        read_definition(tmp_path)
    change_json(tmp_path / PARTS, truncation=None)
    (tmp_path / SETTINGS).write_text('{"truncation_side": "left"}')
    with pytest.raises(ValueError, match=r"tokenizer_config\.json: truncation_side must be 'right', got 'left'"):
        read_definition(tmp_path)


def test_settings_that_sentence_transformers_adds(folder):
    (folder / "sentence_roberta_config.json").write_text('{"tokenizer_args": {"do_lower_case": false}}')
    assert not read_vocabulary(folder).lowercase
    (folder / "sentence_roberta_config.json").write_text('{"processor_kwargs": {"truncation_side": "left"}}')
    with pytest.raises(ValueError, match="truncation_side must be 'right', got 'left'"):
        read_vocabulary(folder)
    (folder / "sentence_roberta_config.json").write_text('{"tokenizer_args": [3]}')
    with pytest.raises(ValueError, match=r"tokenizer_args must be an object, got \[3\]"):
        read_vocabulary(folder)
    (folder / "sentence_roberta_config.json").unlink()
    (folder / "tokenizer.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no vocabulary: neither vocab.txt nor tokenizer.json"):
        read_vocabulary(folder)


_ADDED = {"content": "film0x", "single_word": True, "normalized": False}


@pytest.mark.parametrize(
    ("settings", "added", "expected"),
    [
        ({}, {}, None),
        ({"added_tokens_decoder": {"59": {"content": "[Q]", "special": True}}}, {}, None),
        ({"added_tokens_decoder": {"1": {"content": "[UNK]"}}}, {}, None),
        ({"added_tokens_decoder": {"59": _ADDED}}, {}, (True, [(59, "film0x", True, False)])),
        ({}, {"film1x": 60, "film0x": 59}, (True, [(59, "film0x", False, True), (60, "film1x", False, True)])),
        ({"tokenize_chinese_chars": False}, {}, (False, [])),
    ],
)
def test_word_pieces_that_a_file_has_to_describe(settings, added, expected, written):
    """Tokens that are matched before a text is split, and Chinese characters that are not words."""
    change_json(written / "tokenizer_config.json", **settings)
    (written / "added_tokens.json").write_text(json.dumps(added))
    definition = read_definition(written)
    if expected is None:
        assert definition is None
        return
    tokens = [token for token in definition["added_tokens"] if not token["special"]]
    matched = [(token["id"], token["content"], token["single_word"], token["normalized"]) for token in tokens]
    assert (definition["normalizer"]["handle_chinese_chars"], matched) == expected
    assert definition["normalizer"]["lowercase"] is False
    assert tuple(definition["model"]["vocab"]) == PIECES


def test_a_generic_class_follows_tokenizer_json(folder):
    change_part(folder, "normalizer", handle_chinese_chars=False)
    change_json(folder / "tokenizer_config.json", tokenizer_class="TokenizersBackend")
    assert read_definition(folder)["normalizer"]["handle_chinese_chars"] is False
    change_json(folder / "tokenizer_config.json", tokenizer_class="BertTokenizer")
    assert read_definition(folder) is None


@pytest.mark.parametrize("model", ["Bert", "DistilBert", "Electra", "MobileBert"])
def test_other_models_names_for_berts_tokenizer(model, written):
    """And what only their slow forms read."""
    further = {"do_basic_tokenize": False, "never_split": ["x"]}
    for name in (f"{model}Tokenizer", f"{model}TokenizerFast"):
        change_json(written / "tokenizer_config.json", tokenizer_class=name, **further)
        assert read_vocabulary(written) == CheckpointVocabulary(PIECES, False, 20)


def test_special_tokens_beyond_berts_are_text(folder):
    """As in ColBERT; `[MASK]` in a text is text, too."""
    expected, added = read_vocabulary(folder), {"id": 59, "content": "[Q]", "special": True}
    changes = {"additional_special_tokens": ["[Q]"], "bos_token": "<s>", "added_tokens_decoder": {"59": added}}
    change_json(folder / "tokenizer_config.json", **changes)
    held = json.loads((folder / "tokenizer.json").read_text())["added_tokens"]
    change_json(folder / "tokenizer.json", added_tokens=[*held, added])
    assert read_vocabulary(folder) == expected


def test_who_says_whether_text_is_lowercased(folder, caplog):
    """Classes of their own read `tokenizer_config.json`, and others `tokenizer.json`."""
    change_part(folder, "normalizer", lowercase=False)
    assert read_vocabulary(folder).lowercase
    change_json(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    assert not read_vocabulary(folder).lowercase
    change_part(folder, "normalizer", strip_accents=True)
    with pytest.raises(ValueError, match=r"tokenizer.json: strip_accents must be null or false where"):
        read_vocabulary(folder)
    assert not caplog.messages
    (folder / "tokenizer_config.json").unlink()
    assert read_vocabulary(folder).lowercase
    assert caplog.messages == [
        f"{folder} does not say whether text is lowercased (do_lower_case): it is, as in transformers"
    ]


@pytest.mark.parametrize("tokenizer_class", ["BertTokenizer", "TokenizersBackend"])
def test_lowercasing_in_front_of_a_tokenizer_that_lowercases(tokenizer_class, folder):
    """As sentence-transformers 6 writes bge."""
    normalizer = json.loads((folder / "tokenizer.json").read_text())["normalizer"]
    expected = read_vocabulary(folder)
    parts = [{"type": "Lowercase"}, normalizer]
    change_json(folder / "tokenizer.json", normalizer={"type": "Sequence", "normalizers": parts})
    change_json(folder / "tokenizer_config.json", tokenizer_class=tokenizer_class)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 512, "do_lower_case": true}')
    assert read_vocabulary(folder) == expected
    change_json(folder / "tokenizer_config.json", do_lower_case=False)
    change_json(folder / "tokenizer.json", normalizer={**normalizer, "lowercase": False})
    assert read_vocabulary(folder) == expected._replace(lowercase="keep_accents")


@pytest.mark.parametrize(("name", "expected"), [("RobertaTokenizer", True), ("PreTrainedTokenizerFast", False)])
def test_a_space_before_the_first_word(name, expected, tmp_path):
    """Of RoBERTas for tags: their class changes what `tokenizer.json` says."""
    splitter = {"type": "ByteLevel", "add_prefix_space": False}
    parts = {"type": "Sequence", "pretokenizers": [{"type": "Digits"}, splitter]}
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"type": "BPE"}, "pre_tokenizer": parts}))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name, "add_prefix_space": True}))
    changed = {**parts, "pretokenizers": [{"type": "Digits"}, {**splitter, "add_prefix_space": expected}]}
    assert read_definition(tmp_path)["pre_tokenizer"] == changed


def test_lowercasing_in_front_of_subwords(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE"}, "normalizer": {"type": "NFC"}}')
    (tmp_path / "sentence_bert_config.json").write_text('{"do_lower_case": true}')
    normalizer = {"type": "Sequence", "normalizers": [{"type": "Lowercase"}, {"type": "NFC"}]}
    assert read_definition(tmp_path) == {"model": {"type": "BPE"}, "normalizer": normalizer}
    change_json(tmp_path / "tokenizer.json", normalizer=normalizer)
    assert read_definition(tmp_path)["normalizer"] == normalizer
    (tmp_path / "sentence_bert_config.json").write_text('{"do_lower_case": "yes"}')
    with pytest.raises(ValueError, match=r"sentence_bert_config\.json: do_lower_case must be true or false, got 'yes'"):
        read_definition(tmp_path)


def with_lines(folder):
    """A vocab.txt beside the tokenizer.json."""
    pieces = read_vocabulary(folder).tokens
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    return list(pieces)


def test_two_files_with_the_same_pieces(folder):
    assert list(read_vocabulary(folder).tokens) == with_lines(folder) == list(read_vocabulary(folder).tokens)


def test_two_files_with_other_pieces(folder):
    pieces = with_lines(folder)
    pieces[5:7] = pieces[6], pieces[5]
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in pieces))
    with pytest.raises(
        ValueError, match=rf"vocab.txt and .*tokenizer.json must hold .*, got '{pieces[5]}' and 'the' for the id 5"
    ):
        read_vocabulary(folder)
    (folder / "vocab.txt").write_text("".join(f"{piece}\n" for piece in read_pieces_of(folder)[:-1]))
    with pytest.raises(ValueError, match=r"got none and '.*' for the id 58"):
        read_vocabulary(folder)


def read_pieces_of(folder):
    ids = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    return sorted(ids, key=ids.get)


BERT_PROCESSING = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}


@pytest.mark.parametrize(
    "changes",
    [
        {"post_processor": BERT_PROCESSING},
        {"truncation": {"direction": "Right", "max_length": 128, "strategy": "LongestFirst", "stride": 0}},
        {"truncation": {"max_length": 128, "strategy": "LongestFirst", "stride": 0}},
    ],
)
def test_what_gives_the_same_ids(changes, folder):
    change_json(folder / "tokenizer.json", **changes)
    assert len(read_vocabulary(folder).tokens) == 59


_BERTS = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "lowercase": True}


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("normalizer", {"type": "Sequence", "normalizers": [{"type": "NFC"}, _BERTS]}),
        ("normalizer", {"type": "Lowercase"}),
        ("pre_tokenizer", {"type": "Whitespace"}),
        ("model", {"max_input_chars_per_word": 7}),
        ("post_processor", {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[MASK]", 4]}),
    ],
)
def test_other_rules_of_word_pieces_are_those_of_the_file(part, changes, folder, caplog):
    """Where a class of transformers has its own rules, it takes only the vocabulary of the file."""
    change_part(folder, part, **changes)
    change_json(folder / "tokenizer_config.json", tokenizer_class="PreTrainedTokenizerFast")
    tokenizer, texts = EagerSubwords(read_definition(folder)), ("the café's extraordinary\u0301", "the")
    expected = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json")).encode(*texts)
    row = tokenizer.encode([texts[0]], [texts[1]], max_length=99, pad_to_longest=True)
    assert row["token_ids"][0].tolist() == expected.ids
    assert row["segment_ids"][0].tolist() == expected.type_ids
    assert not caplog.messages
    change_json(folder / "tokenizer_config.json", tokenizer_class="BertTokenizer")
    assert read_definition(folder) is None
    assert caplog.messages[0].endswith("only the vocabulary is read, as by transformers 5; its rules are BERT's")


@pytest.mark.parametrize("processor", [None, {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}])
def test_a_tokenizer_that_gives_no_segments(processor, folder):
    if processor:
        change_json(folder / "tokenizer.json", post_processor=processor)
    change_json(folder / "tokenizer_config.json", model_input_names=["input_ids", "attention_mask"])
    row = EagerSubwords(read_definition(folder)).encode(["the"], ["the"], max_length=9)
    assert row["token_ids"][0].tolist() == [2, 5, 3, 5, 3, 0, 0, 0, 0]
    assert row["segment_ids"].max() == 0
    (folder / "config.json").write_text('{"type_vocab_size": 1}')
    assert read_definition(folder) is None


def test_special_tokens_of_a_class(tmp_path):
    added = [{"content": token} for token in ("<mask>", "[MASK]", "<pad>", "[CLS]")]
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"type": "Unigram"}, "added_tokens": added}))
    assert "named_tokens" not in read_definition(tmp_path)
    (tmp_path / "tokenizer_config.json").write_text('{"tokenizer_class": "BigBirdTokenizer", "cls_token": "<s>"}')
    named = {"pad_token": "<pad>", "cls_token": "<s>", "mask_token": "[MASK]"}
    assert read_definition(tmp_path)["named_tokens"] == named


def test_special_tokens_that_settings_name(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"model": {"type": "BPE"}}')
    (tmp_path / "special_tokens_map.json").write_text('{"pad_token": "<p>", "mask_token": "<m>"}')
    change = {"mask_token": {"content": "<mask>"}, "unk_token": None, "bos_token": "<s>", "truncation_side": "right"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(change))
    assert read_definition(tmp_path) == {
        "model": {"type": "BPE"},
        "named_tokens": {"pad_token": "<p>", "mask_token": "<mask>"},
    }
