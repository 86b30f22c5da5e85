import errno
import gzip
import json
import shutil

import pytest

from components.artifacts.standard import Corpus
from components.beam.engine import BeamOptions
from components.corpus.cleaning import Cleaning
from components.corpus.index import hash_text
from components.corpus.shards import read_cut_documents, read_sentences, read_shard
from components.dsl.errors import InputError
from components.ingest_corpus import ingest_corpus
from components.sources.text import TextSource


def ingest(folder, source, name="corpus", **cleaning):
    corpus = Corpus(folder / name)
    ingest_corpus.run(corpus=corpus, source=source, cleaning=Cleaning(**cleaning))
    return corpus


def documents_of(corpus):
    files = sorted(corpus.path.glob("corpus-*.gz"))
    return [document for file in files for document in read_shard(file.read_bytes())]


def wholes_of(corpus):
    files = sorted(corpus.path.glob("corpus-*.gz"))
    return [document.whole for file in files for document in read_sentences(file.read_bytes())]


def dropped_of(corpus):
    lines = [gzip.decompress(file.read_bytes()).decode() for file in sorted(corpus.path.glob("dropped-*.jsonl.gz"))]
    return [json.loads(line) for line in "".join(lines).split("\n") if line]


def write_jsonl(file, records):
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return TextSource(str(file), id="id" if "id" in records[0] else "")


def write_texts(folder, names):
    folder.mkdir()
    for name in names:
        (folder / name).write_text(f"First of {name}.\nIts second\u2028line.\n\nSecond of {name}.\n")
    return TextSource(str(folder))


def test_writes_the_same_bytes_whatever_the_order_of_files(tmp_path):
    first = ingest(tmp_path, write_texts(tmp_path / "a", ["x.txt", "y.txt", "z.txt"]), "one")
    # The same texts in files of other names come in another order.
    folder = tmp_path / "b"
    folder.mkdir()
    for new, old in zip("mno", "zyx", strict=True):
        shutil.copy(tmp_path / "a" / f"{old}.txt", folder / f"{new}.txt")
    second = ingest(tmp_path, TextSource(str(folder)), "two")
    assert first.fingerprint() == second.fingerprint()
    assert first.manifest()["counts"]["documents"] == 6
    assert "First of x.txt.\nIts second\u2028line." in {text for _, text in documents_of(first)}
    ids = [name for name, _ in documents_of(first)]
    assert ids == sorted(set(ids))
    assert {file.name for file in first.path.iterdir()} == {
        "corpus-00000-of-00001.jsonl.gz",
        "manifest.json",
        "statistics.json",
    }


def test_what_is_dropped_stays_readable_and_counted(tmp_path):
    same = "One two three four five six seven eight nine ten eleven twelve."
    (tmp_path / "a.txt").write_text(
        "\n\n".join([same, "An own text with enough words.", "Short.", "\x00\x01", "A third\x00 text here."])
    )
    (tmp_path / "b.txt").write_text(f"{same}\n\n{same.lower()}\n")
    corpus = ingest(tmp_path, TextSource(str(tmp_path)), min_words=2)
    assert {text for _, text in documents_of(corpus)} >= {"An own text with enough words.", "A third text here."}
    dropped = dropped_of(corpus)
    assert {(record["source"], record["reason"]) for record in dropped} >= {
        ("a.txt#2", "too short"),
        ("a.txt#3", "too short"),
        ("b.txt#0", "exact duplicate"),
    }
    twins = {record["reason"]: record["detail"] for record in dropped}
    assert twins["exact duplicate"].endswith(" in a.txt#0")
    assert sum(record["reason"] == "near duplicate" for record in dropped) == 1
    assert {record["detail"] for record in dropped} >= {"1 words, the minimum is 2", "empty after cleaning"}
    statistics = json.loads(corpus.file("statistics.json").read_text())
    assert statistics["documents"] == {"in the source": 7, "after long ones were cut": 7, "dropped": 4, "kept": 3}
    assert statistics["dropped"]["near duplicate"] == statistics["dropped"]["exact duplicate"] == 1
    assert statistics["text"]["bytes"] == sum(len(text.encode()) for _, text in documents_of(corpus))
    assert statistics["text"]["sentences"] == 3
    counts = corpus.manifest()["counts"]
    assert counts["dropped"] == statistics["dropped"]
    assert set(counts["seconds"]) == {"ReadFn", "CleanFn", "WriteFn"}


def test_named_ids_stay_and_the_smallest_hash_of_the_same_texts_wins(tmp_path):
    records = [{"id": name, "text": text} for name, text in (("a", "Same text."), ("b", "Same text."), ("c", "Other."))]
    corpora = [ingest(tmp_path, write_jsonl(tmp_path / "a.jsonl", records[::step]), f"{step}") for step in (1, -1)]
    assert documents_of(corpora[0]) == documents_of(corpora[1])
    assert len(documents_of(corpora[0])) == 2
    assert {name for name, _ in documents_of(corpora[0])} < {"a", "b", "c"}


def test_the_same_id_for_different_texts_is_an_error_that_names_both(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [{"id": "x", "text": "One."}, {"id": "x", "text": "Two."}])
    message = r"must be unique, got 'x' with different texts in a.jsonl:1 and a.jsonl:2"
    with pytest.raises(InputError, match=message):
        ingest(tmp_path, source)
    assert not list((tmp_path / "corpus").iterdir())


def test_the_same_id_for_the_same_text_is_a_duplicate(tmp_path):
    source = write_jsonl(tmp_path / "a.jsonl", [{"id": "x", "text": "One."}] * 3)
    corpus = ingest(tmp_path, source)
    assert documents_of(corpus) == [("x", "One.")]
    assert [record["source"] for record in dropped_of(corpus)] == ["a.jsonl:2", "a.jsonl:3"]


def test_all_stays_if_wanted(tmp_path):
    (tmp_path / "a.txt").write_text("The same.\n\nThe same.\n\nThe\x01 same.\n")
    kept = ingest(tmp_path, TextSource(str(tmp_path / "a.txt")), exact_duplicates=False, near_duplicates=False)
    assert [text for _, text in documents_of(kept)] == ["The same."] * 3
    raw = ingest(tmp_path, TextSource(str(tmp_path / "a.txt")), "raw", controls=False)
    assert "The\x01 same." in {text for _, text in documents_of(raw)} | {record["text"] for record in dropped_of(raw)}


def test_text_that_is_not_utf8_is_an_error_or_a_counted_drop(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes(b"Good one.\n\nBad \xff\xfe here.\n\nGood two with \x00 NUL.\n")
    with pytest.raises(InputError, match=r"a.txt must be UTF-8, got byte 0xff at offset 15"):
        ingest(tmp_path, TextSource(str(file)), "strict")
    corpus = ingest(tmp_path, TextSource(str(file), undecodable="drop"))
    assert {text for _, text in documents_of(corpus)} == {"Good one.", "Good two with  NUL."}
    (dropped,) = dropped_of(corpus)
    assert (dropped["source"], dropped["reason"]) == ("a.txt#1", "undecodable")
    assert dropped["detail"] == "bytes that are not UTF-8 at offset 15"
    assert dropped["text"] == "Bad \ufffd\ufffd here."


def test_an_empty_file_beside_others_does_no_harm(tmp_path):
    source = write_texts(tmp_path / "texts", ["x.txt"])
    alone = ingest(tmp_path, source, "alone")
    (tmp_path / "texts" / "empty.txt").touch()
    assert ingest(tmp_path, source).fingerprint() == alone.fingerprint()


def test_nothing_left_says_why(tmp_path):
    (tmp_path / "a.txt").write_text("One.\n\nTwo.\n")
    with pytest.raises(InputError, match="got none after cleaning: 2 too short"):
        ingest(tmp_path, TextSource(str(tmp_path / "a.txt")), min_words=5)


def test_long_documents_are_cut_and_shards_hold_all(tmp_path, monkeypatch):
    monkeypatch.setattr("components.ingest_corpus.SHARD_BYTES", 100_000)
    lines = [f"Line {number} of a long book, {number * 7919 % 1000}." for number in range(20_000)]
    (tmp_path / "a.txt").write_text("\n".join(lines))
    corpus = ingest(tmp_path, TextSource(str(tmp_path / "a.txt")))
    statistics = json.loads(corpus.file("statistics.json").read_text())
    assert statistics["documents"]["in the source"] == 1
    texts = [text for _, text in documents_of(corpus)]
    assert len(texts) >= 10
    (whole,) = {
        document.whole for file in corpus.path.glob("corpus-*") for document in read_sentences(file.read_bytes())
    }
    assert whole == hash_text("\n".join(lines)).hex()[:16]
    assert list(read_cut_documents(corpus)) == [(whole, len(texts))]
    assert sorted(line for text in texts for line in text.split("\n")) == sorted(lines)
    assert len(list(corpus.path.glob("corpus-*"))) == corpus.manifest()["counts"]["shards"] >= 4


def test_parts_that_are_dropped_do_not_count_and_short_documents_do_not_either(tmp_path):
    lines = [f"Line {number} of a long book, {number * 7919 % 1000}." for number in range(5000)]
    long, other = "\n".join(lines), "\n".join([*lines, "And an end."])
    source = write_jsonl(tmp_path / "a.jsonl", [{"text": text} for text in (long, long, other, "Short.")])
    corpus = ingest(tmp_path, source, near_duplicates=False)
    parts = dict(read_cut_documents(corpus))
    assert json.loads(corpus.file("cut_documents.json").read_text()) == parts
    assert list(parts) == sorted(parts)
    wholes = wholes_of(corpus)
    # All three parts of the second are duplicates, and all of the third but the last.
    assert sorted(parts.values()) == [1, 3]
    assert wholes.count(None) == 1
    assert {whole: wholes.count(whole) for whole in parts} == parts
    assert set(parts) == {hash_text(text).hex()[:16] for text in (long, other)}


def test_sentences_stand_beside_the_text(tmp_path):
    (tmp_path / "a.txt").write_text("One. Two ends.\nThree\n\nAnother text.")
    corpus = ingest(tmp_path, TextSource(str(tmp_path / "a.txt")))
    (file,) = corpus.path.glob("corpus-*")
    records = [json.loads(line) for line in gzip.decompress(file.read_bytes()).splitlines()]
    assert sorted((record["text"], record["sentences"]) for record in records) == [
        ("Another text.", [13]),
        ("One. Two ends.\nThree", [5, 9, 6]),
    ]
    sentences = read_sentences(file.read_bytes())
    assert sorted(document.sentences for document in sentences) == [["Another text."], ["One.", "Two ends.", "Three"]]
    # A corpus by hand may have none.
    bare = "".join(json.dumps({"id": record["id"], "text": record["text"]}) + "\n" for record in records)
    assert read_sentences(gzip.compress(bare.encode())) == sentences


def test_small_chunks_give_the_same_bytes(tmp_path, monkeypatch):
    source = write_texts(tmp_path / "texts", [f"{number}.txt" for number in range(20)])
    whole = ingest(tmp_path, source, "whole")
    monkeypatch.setattr("components.corpus.chunks.CHUNK_CHARACTERS", 1)
    assert ingest(tmp_path, source).fingerprint() == whole.fingerprint()


def test_a_full_disk_ends_the_step_and_leaves_nothing(tmp_path, monkeypatch):
    source = write_texts(tmp_path / "texts", ["x.txt"])

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("components.corpus.transforms.write_gzip", full)
    with pytest.raises(Exception, match="No space left on device"):
        ingest(tmp_path, source)
    assert not list((tmp_path / "corpus").iterdir())


def test_the_engine_is_no_part_of_the_parameters(tmp_path):
    source = write_texts(tmp_path / "texts", ["x.txt"])
    node = ingest_corpus(source=source, beam=BeamOptions(workers=3))
    assert node.values["beam"].workers == 3
    assert "beam" not in ingest(tmp_path, source).manifest()["parameters"]
