import json

import pytest

from components.corpus.chunks import DOCUMENT_BYTES, Chunk, chunk_size, clean_chunk, cut, gather
from components.corpus.cleaning import REASONS, TOO_SHORT, UNDECODABLE, Cleaning
from components.corpus.index import as_place, hash_text
from components.sources.text import Document
from components.text.near_duplicates import Signer


def test_chunks_are_as_long_as_wanted():
    documents = [Document(f"a#{number}", None, "x" * size) for number, size in enumerate([5, 5, 1, 20, 3])]
    chunks = [[len(document.text) for document in chunk] for chunk in gather(documents, 10)]
    assert chunks == [[5, 5], [1, 20], [3]]
    assert not list(gather([], 10))


def test_chunks_grow_where_their_number_would():
    assert [chunk_size(10**9 * gigabytes) for gigabytes in (1, 60, 131.072, 1000)] == [
        4_000_000,
        4_000_000,
        8_000_000,
        61_035_156,
    ]


def test_many_lines_of_a_document_count(monkeypatch):
    monkeypatch.setattr("components.corpus.chunks.MOST_ROWS", 4)
    documents = [Document("a", None, "x")] * 5
    assert [len(chunk) for chunk in gather(documents, 10**9)] == [2, 2, 1]
    long = [Document("a", None, "x" * DOCUMENT_BYTES), Document("b", None, "x")]
    assert [len(chunk) for chunk in gather(long, 10**9)] == [1, 1]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("ab\ncd", [("id", "ab\ncd")]),
        ("abc\nde\nf", [("id/0", "abc"), ("id/1", "de\nf")]),
        # A line that is too long stays whole; a piece of nothing but white space is left out.
        ("abcdefgh\n\n \nij", [("id/0", "abcdefgh"), ("id/1", "\n \nij")]),
        ("\u00e9\u00e9\n\u00e9", [("id/0", "\u00e9\u00e9"), ("id/1", "\u00e9")]),
    ],
)
def test_pieces_by_hand(text, pieces):
    assert list(cut("id", text, 5)) == pieces
    assert [id_ for id_, _ in cut(None, text, 5)] == [None] * len(pieces)


def test_chunk_names_its_documents():
    texts = ["One. Two.", "\x01 ", "Three\x02."]
    documents = [Document(f"a#{n}", None, text) for n, text in enumerate(texts)]
    documents.append(Document("a#3", "broken", "\ufffdx", "a bad byte"))
    signer = Signer(0.8, 16, 5)
    texts, bands, signed = clean_chunk(Chunk(7, 2, ""), documents, Cleaning(), signer)
    rows = texts.rows
    assert [REASONS[reason] for reason in rows["reason"]] == ["", TOO_SHORT, "", UNDECODABLE]
    assert rows["place"].tolist() == [as_place(7, 2, number) for number in range(4)]
    assert rows["sentences"].tolist() == [2, 0, 1, 0]
    assert rows["named"].tolist() == [False, False, False, True]
    assert rows["first"].all()
    assert bands.tolist() == [*signer.sign("One. Two."), *signer.sign("Three.")]
    assert signed.tolist() == [0] * signer.bands + [2] * signer.bands
    records, notes = zip(*(map(json.loads, lines.splitlines()) for lines in texts.lines), strict=True)
    # What is dropped stays as it was.
    assert [record["text"] for record in records] == ["One. Two.", "\x01 ", "Three.", "\ufffdx"]
    assert [record["sentences"] for record in records] == [[5, 4], [], [6], []]
    assert [record["id"] for record in records] == [*(hash_text(r["text"]).hex() for r in records[:3]), "broken"]
    assert [note["detail"] for note in notes] == ["", "empty after cleaning", "", "a bad byte"]


def test_without_signatures():
    documents = [Document("a", None, "Some text.")]
    _, bands, rows = clean_chunk(Chunk(0, 0, ""), documents, Cleaning(), None)
    assert (len(bands), len(rows)) == (0, 0)
