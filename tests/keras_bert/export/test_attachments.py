"""What is attached is read again, and changes nothing that a runtime sees."""

import contextlib
import json
import subprocess
import sys
import tracemalloc
import zipfile
from hashlib import sha256

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_bert.export.attachments import DIGEST_FILE, attach_entries, check_integrity, read_attachments
from keras_bert.export.runtimes import open_file
from tests.keras_bert.compress import tiny

FILES = {"vocab.txt": "[PAD]\n\u00e9t\u00e9\n".encode(), "metrics.json": b"{}"}


@pytest.fixture(params=["model.tflite", "model.onnx"])
def file(request, files, tmp_path):
    copy = tmp_path / request.param
    copy.write_bytes((files / request.param).read_bytes())
    return copy


def test_files_travel_inside_and_answers_stay(file, files):
    attach_entries(file, FILES)
    attach_entries(file, {"origin.json": b"[1]"})
    attachments = read_attachments(file)
    del attachments[DIGEST_FILE]
    assert attachments == {**FILES, "origin.json": b"[1]"}
    rows, _ = tiny.make_rows(8, seed=3)
    answers = [open_file(place, 16)(**rows) for place in (file, files / file.name)]
    np.testing.assert_array_equal(*answers)


def test_the_model_keeps_its_bytes_and_nothing_is_attached_twice(file, files):
    attach_entries(file, FILES)
    assert file.read_bytes().startswith((files / file.name).read_bytes())
    once = file.read_bytes()
    file.write_bytes((files / file.name).read_bytes())
    attach_entries(file, FILES)
    assert file.read_bytes() == once
    with pytest.raises(ValueError, match=r"model.* must have distinct names, got vocab\.txt twice"):
        attach_entries(file, {"vocab.txt": b""})


def test_a_zip_program_opens_them(files, tmp_path):
    file = tmp_path / "model.tflite"
    file.write_bytes((files / "model.tflite").read_bytes())
    attach_entries(file, FILES)
    subprocess.run([sys.executable, "-m", "zipfile", "-e", str(file), str(tmp_path / "out")], check=True)
    assert FILES.items() < {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}.items()
    file.write_bytes((files / "model.tflite").read_bytes())
    attach_entries(file, {"labels.txt": b"no\nyes\n"}, stored=True)
    attach_entries(file, FILES)
    with zipfile.ZipFile(file) as archive:
        assert {entry.compress_type for entry in archive.infolist()} == {zipfile.ZIP_STORED}


def test_a_digest_of_the_model_comes_first(file, files):
    attach_entries(file, FILES)
    attach_entries(file, {"origin.json": b"[1]"})
    check_integrity(file)
    model = (files / file.name).read_bytes()
    assert next(iter(read_attachments(file))) == DIGEST_FILE
    assert json.loads(read_attachments(file)[DIGEST_FILE]) == {"bytes": len(model), "sha256": sha256(model).hexdigest()}


def test_files_that_were_there_before_the_digest_may_be_joined_by_others(files, tmp_path):
    file = tmp_path / "model.tflite"
    file.write_bytes((files / "model.tflite").read_bytes())
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("labels.txt", "no\nyes\n")
    for name in ("task.json", "origin.json"):
        attach_entries(file, {name: b"{}"})
        check_integrity(file)


@pytest.mark.parametrize("name", ["model.tflite", "model.onnx"])
def test_a_model_that_changed_is_told_of(tmp_path, name):
    file = tmp_path / name
    file.write_bytes(onnx.ModelProto(producer_name="cow").SerializeToString())
    attach_entries(file, FILES)
    check_integrity(file)
    file.write_bytes(file.read_bytes().replace(b"cow", b"hen"))
    with pytest.raises(
        ValueError, match=rf"{name} must hold the model that was exported, but its first \d+ bytes have"
    ):
        check_integrity(file)


@pytest.mark.parametrize("name", ["model.onnx", "saved_model.pb"])
def test_an_attached_file_that_changed_is_told_of(tmp_path, name):
    """A single bit of a label, a temperature or the vocabulary changes answers without an error."""
    file = tmp_path / name
    file.write_bytes(onnx.ModelProto(producer_name="cow").SerializeToString())
    attach_entries(file, {"task.json": b"temperature 1", "vocab.txt": b"piece"})
    attach_entries(file, {"metrics.json": b"threshold 3"})
    assert set(read_attachments(file)) == {DIGEST_FILE, "task.json", "vocab.txt", "metrics.json"}
    for kept, changed in {b"ature 1": b"ature 0", b"old 3": b"old 2", b"piece": b"pIece"}.items():
        (part,) = (part for part in (file, *tmp_path.rglob("assets.extra/*")) if kept in part.read_bytes())
        content = part.read_bytes()
        part.write_bytes(content.replace(kept, changed))
        with pytest.raises(ValueError, match=rf"attached to [^\n]*{name} must be as it was exported, but has changed$"):
            read_attachments(file)
        part.write_bytes(content)
    read_attachments(file)


def test_what_is_attached_must_be_text_in_an_onnx_file(tmp_path):
    file = tmp_path / "model.onnx"
    file.write_bytes(onnx.ModelProto(producer_name="cow").SerializeToString())
    attach_entries(file, {"vocab.txt": b"piece"})
    file.write_bytes(file.read_bytes().replace(b"piece", b"pi\xff\xffe"))
    with pytest.raises(ValueError, match=r"the files attached to .*model\.onnx must be UTF-8, got other bytes"):
        read_attachments(file)


def test_models_without_a_digest_and_other_files_are_refused(file, tmp_path):
    with pytest.raises(ValueError, match=rf"{file.name} must hold a digest\.json of its model, .*; got none"):
        check_integrity(file)
    (tmp_path / "model.keras").write_bytes(b"PK")
    with pytest.raises(ValueError, match=r"must be a \.tflite or \.onnx file"):
        read_attachments(tmp_path / "model.keras")


@pytest.mark.parametrize("digest", [b"[]", b"{}", b'{"bytes": "x", "sha256": ""}', b"\xff", b"null"])
def test_a_digest_that_is_none(files, tmp_path, digest):
    file = tmp_path / "model.tflite"
    file.write_bytes((files / "model.tflite").read_bytes())
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr(DIGEST_FILE, digest)
    with pytest.raises(ValueError, match=r"model\.tflite must hold a digest\.json of bytes and sha256, got b"):
        check_integrity(file)


def test_a_list_of_files_that_points_before_the_start(tmp_path):
    file = tmp_path / "model.tflite"
    file.write_bytes(b"model" * 10)
    attach_entries(file, FILES)
    content = bytearray(file.read_bytes())
    # The list says of itself, 6 bytes before the end, that it begins behind where it does.
    content[-4] ^= 0x40
    file.write_bytes(content)
    with pytest.raises(ValueError, match=r"the files attached to .*model\.tflite are damaged: .*Invalid argument"):
        read_attachments(file)


@given(st.data())
def test_damaged_files_are_read_or_refused(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("damaged") / "model.tflite"
    file.write_bytes(b"model" * 10)
    attach_entries(file, FILES)
    content = bytearray(file.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    content[place] ^= data.draw(st.integers(1, 255))
    file.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    attachments = {}
    # Its own error names the file; any other would end the test.
    with contextlib.suppress(ValueError):
        attachments = read_attachments(file)
    assert all(isinstance(value, bytes) for value in attachments.values())


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (2**31, r"the files attached to .*model\.tflite must have at most 268435456 bytes, got 2147483648$"),
        (5, r"the files attached to .*model\.tflite are damaged: Bad CRC-32"),
    ],
)
def test_an_archive_that_becomes_large(tmp_path, declared, message):
    file, size = tmp_path / "model.tflite", 1 << 24
    file.write_bytes(b"model")
    with zipfile.ZipFile(file, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("vocab.txt", bytes(size))
    content, entry = bytearray(file.read_bytes()), file.read_bytes().index(b"PK\x01\x02")
    content[entry + 24 : entry + 28] = declared.to_bytes(4, "little")
    file.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            read_attachments(file)
        assert tracemalloc.get_traced_memory()[1] < size / 4
    finally:
        tracemalloc.stop()
