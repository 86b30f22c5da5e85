"""Sentences for probes: from treebanks, from tagged words, and a part that measures."""

import pytest

from components.dsl.errors import InputError
from components.sources.tagged_words import Sentence, SentenceSource
from keras_bert.data.conllu import TreebankSentence
from plugins.explain.findings import (
    MOST_TEST,
    MOST_TRAINING,
    hold_sentences,
    read_probe_sentences,
)

TREE = "1\t{0}\t_\tNOUN\tNNS\t_\t2\tx\t_\t_\n2\tends\t_\tVERB\tVB\t_\t0\troot\t_\t_\n\n"


def test_a_tenth_measures_where_there_is_no_other_part(tmp_path):
    (tmp_path / "a.conllu").write_text("".join(TREE.format(f"film{number}") for number in range(30)))
    sentences = read_probe_sentences(SentenceSource(str(tmp_path / "a.conllu"), scheme="any"))
    assert (len(sentences.train), len(sentences.test)) == (27, 3)
    assert not set(sentences.train) & set(sentences.test)
    assert all(sentence.heads == (2, 0) for sentence in (*sentences.train, *sentences.test))
    parsed = sentences.parsed()
    assert parsed[1] == ([sentence.words for sentence in sentences.test], [(2, 0)] * 3)


def test_tagged_words_have_no_trees(tmp_path):
    (tmp_path / "train.conll").write_text("films NOUN\nend VERB\n")
    (tmp_path / "test.conll").write_text("film NOUN\n")
    source = SentenceSource(str(tmp_path / "train.conll"), test=str(tmp_path / "test.conll"), scheme="any")
    sentences = read_probe_sentences(source)
    assert sentences.parsed() is None
    assert sentences.tagged() == [([("films", "end")], [("NOUN", "VERB")]), ([("film",)], [("NOUN",)])]


def test_tags_that_training_lacks_are_not_measured():
    train = [TreebankSentence(("a", "b"), ("X", "Z"), ())]
    test, unseen = TreebankSentence(("b",), ("X",), ()), TreebankSentence(("c",), ("Y",), ())
    assert hold_sentences(train, [unseen, test]).tagged()[1] == ([test.words], [test.tags])
    with pytest.raises(InputError, match=r"^probes must have a test sentence whose tags all occur in training"):
        hold_sentences(train, [unseen])


def test_refuses_one_kind_of_tag():
    row = TreebankSentence(("a",), ("X",), ())
    with pytest.raises(InputError, match=r"^probes must have at least two different tags in .*, got \['X'\]$"):
        hold_sentences([row], [row])


def test_long_files_are_cut():
    row = Sentence(("a", "b"), ("X", "Y"))
    sentences = hold_sentences([row] * (MOST_TRAINING + 1), [row] * (MOST_TEST + 1))
    assert (len(sentences.train), len(sentences.test)) == (MOST_TRAINING, MOST_TEST)


def test_columns_of_treebanks(tmp_path):
    file = tmp_path / "a.conllu"
    file.write_text(TREE.format("films"))
    source = SentenceSource(str(file), tag_column=4, scheme="any")
    assert source.splits()["train"] == [Sentence(("films", "ends"), ("NNS", "VB"))]
    with pytest.raises(
        InputError, match=r"^SentenceSource\.tag_column must be one of \[3, 4, 7\] for \.conllu files, got 2$"
    ):
        SentenceSource(str(file), tag_column=2, scheme="any").splits()
    file.write_text("1\tfilms\n")
    with pytest.raises(InputError, match=r"a\.conllu line 1 must have 10 columns"):
        source.splits()
