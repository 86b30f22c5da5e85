"""What stands beside a graph: names of answers, the same ids of text, and how states are pooled."""

import json

import numpy as np
import pytest
import tokenizers

from keras_bert.export.transformers_js import write_description
from keras_bert.interop.sentence_transformers import PoolingSettings, read_pooling
from keras_bert.interop.tokenizer_json import read_tokenizer, write_tokenizer
from keras_bert.tokenizers.subwords import SubwordTokenizer
from keras_bert.tokenizers.tokenizer import Tokenizer
from tests.keras_bert.interop.checkpoints import PIECES, known_task, make_task
from tests.keras_bert.tiny import tiny_config
from tests.keras_bert.tokenizers import subwords

TEXTS = ["abc CAB b", "", "a  b\tz Á", "a" * 120, "ab, a"]


@pytest.mark.parametrize("lowercase", [True, False])
def test_hugging_faces_tokenizer_makes_the_same_ids(lowercase, tmp_path):
    task = make_task("question_answering", tokenizer=Tokenizer(PIECES, lowercase))
    write_description(task, tmp_path)
    settings = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert (settings["model_max_length"], settings["do_lower_case"]) == (26, lowercase)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    ours = task.tokenizer.encode(TEXTS, TEXTS[::-1], max_length=200)
    for row, pair in enumerate(zip(TEXTS, TEXTS[::-1], strict=True)):
        encoding = theirs.encode(*pair)
        count = len(encoding.ids)
        assert encoding.ids == np.asarray(ours["token_ids"])[row, :count].tolist()
        assert encoding.type_ids == np.asarray(ours["segment_ids"])[row, :count].tolist()
        assert np.asarray(ours["padding_mask"])[row].sum() == count
    assert theirs.encode("[MASK] ab").ids[1] == PIECES.index("[MASK]")


@pytest.mark.parametrize("lowercase", [True, False])
def test_what_is_written_is_read(lowercase, tmp_path):
    content = write_tokenizer(PIECES, lowercase=lowercase)
    assert read_tokenizer(tmp_path / "tokenizer.json", content) == PIECES
    assert content["normalizer"]["lowercase"] is lowercase


def test_other_pieces_keep_their_definition(tmp_path):
    tokenizer = SubwordTokenizer(json.loads(subwords.bpe()))

    config = tiny_config(vocabulary_size=tokenizer.vocabulary_size, max_length=26, num_layers=1, intermediate_size=8)
    write_description(make_task("regression", config, tokenizer), tmp_path)
    theirs = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    ours = np.asarray(tokenizer.encode(["old cows go"], max_length=40)["token_ids"])[0]
    ids = theirs.encode("old cows go").ids
    assert ids == ours[: len(ids)].tolist()
    assert json.loads((tmp_path / "tokenizer_config.json").read_text())["cls_token"] == "<s>"
    assert json.loads((tmp_path / "config.json").read_text())["pad_token_id"] == tokenizer.pad_id == 1


@pytest.mark.parametrize(
    ("kind", "architecture", "labels"),
    [
        ("classification", "BertForSequenceClassification", ["low", "mid", "high"]),
        ("multi_label", "BertForSequenceClassification", ["low", "mid", "high"]),
        ("regression", "BertForSequenceClassification", ["LABEL_0"]),
        ("token_classification", "BertForTokenClassification", ["O", "B-x", "I-x"]),
        ("question_answering", "BertForQuestionAnswering", None),
        ("embedding", "BertModel", None),
    ],
)
def test_the_configuration_names_a_class_and_its_answers(kind, architecture, labels, tmp_path):
    task = known_task(kind)
    task = type(task)(task.model, Tokenizer(PIECES, True), **task.settings())
    write_description(task, tmp_path)
    content = json.loads((tmp_path / "config.json").read_text())
    assert (content["model_type"], content["architectures"]) == ("bert", [architecture])
    assert content.get("id2label") == (None if labels is None else {str(n): label for n, label in enumerate(labels)})
    assert (content["vocab_size"], content["hidden_size"]) == (len(PIECES), 8)
    assert (tmp_path / "modules.json").exists() == (kind == "embedding")


@pytest.mark.parametrize(
    ("kind", "pooling", "said"),
    [("classification", "mean", "single_label_classification"), ("multi_label", "cls", "multi_label_classification")],
)
def test_the_kind_of_problem(kind, pooling, said, tmp_path):
    write_description(make_task(kind, tokenizer=Tokenizer(PIECES, True), pooling=pooling), tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["problem_type"] == said


@pytest.mark.parametrize(("pooling", "normalize"), [("cls", False), ("mean", True)])
def test_an_embedding_says_how_it_pools(pooling, normalize, tmp_path):
    task = make_task("embedding", tokenizer=Tokenizer(PIECES, True), pooling=pooling, normalize=normalize)
    write_description(task, tmp_path)
    assert read_pooling(tmp_path) == PoolingSettings(pooling, normalize, 26)
