"""Sentences of CoNLL-U files."""

import pytest

from keras_bert.data.conllu import TreebankSentence, parse_conllu

ROWS = [
    "# sent_id = 1",
    "1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_",
    "1\tvamos\tir\tVERB\tV\t_\t0\troot\t_\t_",
    "2\tnos\tnosotros\tPRON\tP\t_\t1\tobj\t_\t_",
    "2.1\tnada\t_\tX\t_\t_\t_\t_\t_\t_",
    "3\ta b\ta b\tNOUN\tN\t_\t1\tobl\t_\t_",
    "",
    "",
    "# without a tree",
    "1\tfin\tfin\tNOUN\tN\t_\t_\t_\t_\t_",
]


def test_words_tags_and_heads():
    sentences = list(parse_conllu(ROWS, "a.conllu"))
    assert sentences == [
        (TreebankSentence(("vamos", "nos", "a b"), ("VERB", "PRON", "NOUN"), (0, 1, 1)), 3),
        (TreebankSentence(("fin",), ("NOUN",), ()), 10),
    ]
    with pytest.raises(ValueError, match=r"tag must be one of \['deprel', 'upos', 'xpos'\], got 'lemma'$"):
        list(parse_conllu(ROWS, "a", "lemma"))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1\tfin", r"^a line 1 must have 10 columns parted by tabs, got 2: '1\\tfin'$"),
        ("1\t\t_\tX\t_\t_\t0\t_\t_\t_", r"^a line 1: the word must not be empty, got"),
        ("1\tfin\t_\t\t_\t_\t0\t_\t_\t_", r"^a line 1: the tag must not be empty, got"),
        ("1\tfin\t_\tX\t_\t_\t٢\t_\t_\t_", r"^a line 1: heads of a sentence must all be numbers, .* got '٢'$"),
        ("1\tfin\t_\tX\t_\t_\t-1\t_\t_\t_", r"^a line 1: heads of a sentence must all be numbers, .* got '-1'$"),
    ],
)
def test_malformed_rows_are_refused(row, message):
    with pytest.raises(ValueError, match=message):
        list(parse_conllu([row], "a"))
