"""The texts that a page searches, and their sentences."""

import pytest

from components.dsl.errors import InputError
from components.sources.search_texts import SearchTexts, read_search_texts

LINES = ["The boat. The harbour!", "The boat.", "One line without an end"]


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [(False, LINES), (True, [LINES[0], "The boat.", "The harbour!", LINES[2]])],
)
@pytest.mark.parametrize("is_file", [False, True])
def test_sentences_are_texts_once_each(sentences, expected, is_file, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(LINES))
    path, passages = (str(tmp_path / "texts.txt"), []) if is_file else ("", LINES)
    texts, megabytes = read_search_texts(SearchTexts(path, sentences=sentences), passages, 3)
    assert texts == expected
    # As JSON, each with a comma, and three numbers in base64.
    assert megabytes == pytest.approx(sum(len(text) + 2 + 1 + 3 * 4 / 3 for text in expected) / 1e6)


def test_sentences_count_in_the_size_of_the_page():
    with pytest.raises(InputError, match="which 1 texts fill; raise it, or search fewer texts"):
        read_search_texts(SearchTexts(max_megabytes=3e-5, sentences=True), LINES[:1], 3)
