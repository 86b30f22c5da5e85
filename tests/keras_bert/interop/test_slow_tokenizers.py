import json
import shutil

import pytest

from keras_bert.interop.vocabularies import read_definition
from keras_bert.tokenizers.eager import EagerSubwords
from tests.keras_bert.interop.checkpoints import GOLDEN

FOLDERS = GOLDEN / "slow_tokenizers"
GOLDENS = json.loads((FOLDERS / "answers.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", GOLDENS["answers"])
def test_a_folder_without_tokenizer_json_gives_the_ids_of_transformers(name):
    tokenizer, expected = EagerSubwords(read_definition(FOLDERS / name)), GOLDENS["answers"][name]
    assert list(tokenizer.special_ids) == expected["special"]
    assert tokenizer.vocabulary_size == expected["size"]
    ids = tokenizer.tokenize(GOLDENS["texts"]).to_list()
    assert [
        text for text, *pair in zip(GOLDENS["texts"], ids, expected["ids"], strict=True) if pair[0] != pair[1]
    ] == []
    rows = tokenizer.encode(*map(list, zip(*GOLDENS["pairs"], strict=True)), max_length=256)
    lengths = rows["padding_mask"].sum(1)
    assert [row[:length].tolist() for row, length in zip(rows["token_ids"], lengths, strict=True)] == expected["pairs"]


def test_the_model_of_a_folder_decides_where_it_names_no_class(tmp_path):
    folder = shutil.copytree(FOLDERS / "albert", tmp_path / "albert")
    (folder / "tokenizer_config.json").unlink()
    (folder / "config.json").write_text('{"model_type": "albert"}')
    assert read_definition(folder)["model"] == read_definition(FOLDERS / "albert")["model"]


@pytest.mark.parametrize(
    ("name", "files", "message"),
    [
        ("roberta", {"merges.txt": None}, "has vocab.json and lacks merges.txt beside it"),
        ("roberta", {"merges.txt": b"\xff"}, r"merges.txt must hold UTF-8"),
        ("roberta", {"merges.txt": b"q zzz\n"}, r"merges.txt must join tokens of vocab.json in pairs, got 'q zzz'"),
        ("roberta", {"vocab.json": b'{"a": 1}'}, r"vocab.json must map tokens to the ids from 0 on, each once"),
        ("deberta-v3", {"added_tokens.json": b'{"[MASK]": 400}'}, r"added_tokens.json must number its tokens from 237"),
        ("deberta-v3", {"spm.model": b""}, r"spm.model is not a whole model of sentencepiece: it must hold pieces"),
        ("deberta-v3", {"spm.model": b"\n\xff"}, r"spm.model is not a whole model of sentencepiece: .* cut short"),
        ("deberta-v3", {"spm.model": b"\n\x03\n\x01a\x12\x02\x18\x02"}, r"spm.model must be a unigram model .* kind 2"),
        ("deberta-v3", {"spm.model": b"\n\x03\n\x01a"}, r"spm.model must hold each piece once, and '\[UNK\]' among"),
        (
            "deberta-v3",
            {"tokenizer_config.json": b'{"tokenizer_class": "XLNetTokenizer"}'},
            r"has no tokenizer.json, .* got tokenizer_class and model_type \['XLNetTokenizer', 'None'\]: let",
        ),
    ],
)
def test_refuses_files_that_are_damaged_or_of_another_kind(name, files, message, tmp_path):
    folder = shutil.copytree(FOLDERS / name, tmp_path / name)
    for file, content in files.items():
        (folder / file).unlink(missing_ok=True)
        if content is not None:
            (folder / file).write_bytes(content)
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        read_definition(folder)
