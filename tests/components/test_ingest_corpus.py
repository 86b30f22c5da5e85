import gzip

import pytest

from components.artifacts import Corpus
from components.base import InputError
from components.ingest_corpus import cut, ingest_corpus, pack, read_shard
from components.sources import TextSource


def documents_of(corpus):
    return [document for file in sorted(corpus.path.glob("*.gz")) for document in read_shard(file.read_bytes())]


def write_texts(folder, names):
    folder.mkdir()
    for name in names:
        (folder / name).write_text(f"First of {name}.\nIts second\u2028line.\n\nSecond of {name}.\n")


def test_writes_the_same_bytes_whatever_the_listing_order(tmp_path):
    write_texts(tmp_path / "a", ["x.txt", "y.txt", "z.txt"])
    write_texts(tmp_path / "b", ["z.txt", "y.txt", "x.txt"])
    corpora = []
    for name in ("a", "b"):
        corpora.append(Corpus(tmp_path / f"corpus-{name}"))
        ingest_corpus(corpus=corpora[-1], source=TextSource(str(tmp_path / name)))
    assert corpora[0].fingerprint() == corpora[1].fingerprint()
    assert corpora[0].manifest()["counts"]["documents"] == 6
    texts = {text for _, text in documents_of(corpora[0])}
    assert "First of x.txt.\nIts second\u2028line." in texts
    ids = [name for name, _ in documents_of(corpora[0])]
    assert ids == sorted(set(ids))
    assert [file.name for file in corpora[0].path.glob("*.gz")] == ["corpus-00000-of-00001.jsonl.gz"]


def test_gzip_holds_no_time(tmp_path):
    write_texts(tmp_path / "a", ["x.txt"])
    corpus = Corpus(tmp_path / "corpus")
    ingest_corpus(corpus=corpus, source=TextSource(str(tmp_path / "a")))
    content = next(corpus.path.glob("*.gz")).read_bytes()
    assert content[4:8] == b"\0\0\0\0"
    assert gzip.decompress(content).endswith(b"}\n")


def test_cuts_long_documents_at_the_ends_of_lines():
    text = "\n".join(["x" * 9] * 10)
    parts = list(cut("a", text, most=30))
    assert [name for name, _ in parts] == ["a/0", "a/1", "a/2", "a/3"]
    assert "\n".join(part for _, part in parts) == text
    assert all(len(part) <= 30 for _, part in parts)
    assert list(cut("a", "x" * 100, most=30)) == [("a/0", "x" * 100)]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
@pytest.mark.parametrize("most", [1, 25, 100, 10_000])
def test_shards_hold_everything_and_at_least_two_documents(count, most):
    documents = [(f"{number}", "x" * (1 + number * 7 % 19)) for number in range(count)]
    shards = list(pack(documents, most))
    assert [document for shard in shards for document in shard] == documents
    assert all(len(shard) >= 2 for shard in shards) or count == 1


def test_empty_corpus(tmp_path):
    (tmp_path / "a.txt").write_text("\n \n")
    with pytest.raises(InputError, match="must hold at least one document"):
        ingest_corpus(corpus=Corpus(tmp_path / "corpus"), source=TextSource(str(tmp_path / "a.txt")))
