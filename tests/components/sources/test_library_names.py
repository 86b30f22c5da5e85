"""The names of libraries are blanked out, and nothing else is."""

import pytest

from components.sources.docstring_task import blank_names, library_row
from components.sources.table import TextRow


@pytest.mark.parametrize(
    ("text", "blanked"),
    [
        ("A Keras model.", "A library model."),
        ("Apache Beam runs it on Python.", "library runs it on library."),
        ("The np module, and tf too.", "The library module, and library too."),
        ("A moonbeam is no pyramid, type or tfidf.", "A moonbeam is no pyramid, type or tfidf."),
        ("Tensor flow in tensorflow.", "library in library."),
    ],
)
def test_names_by_hand(text, blanked):
    assert blank_names(text) == blanked


def test_the_label_is_whose_the_sentence_is():
    assert library_row("What numpy does.", "numpy") == TextRow("What library does.", "numpy")
