import pickle
import random
import shutil
import struct
import zipfile

import numpy as np
import pytest
from safetensors.numpy import load_file

from keras_bert.interop.hugging_face import read_model
from keras_bert.interop.pytorch_files import open_pickled
from keras_bert.interop.safetensors_files import open_tensors
from tests.keras_bert.interop.checkpoints import GOLDEN, check_equal_weights, copy_golden, known_model
from tests.keras_bert.interop.pickled import name, pickle_of, tensor, text, whole, write_archive, write_pickle
from tests.robustness.corruption.mutations import mutate

FILES = GOLDEN / "pytorch"
NUMBERS = np.arange(24, dtype="float32").reshape(4, 6)
EXPECTED = {
    "whole": NUMBERS,
    "transposed": NUMBERS.T,
    "part": NUMBERS[1:3, ::2],
    "half": NUMBERS[:2].astype("float16"),
    "bfloat16": NUMBERS[:2],
    "parameter": NUMBERS[0] + 1,
    "position_ids": np.arange(5)[None],
    "empty": np.zeros((0, 3), "float32"),
    "scalar": np.float32(2.5),
}


@pytest.mark.parametrize("file", ["zip.bin", "old.bin"])
def test_views_of_storages_and_number_formats_are_those_of_pytorch(file):
    tensors = open_pickled(FILES / file)
    assert list(tensors) == list(EXPECTED)
    for key, expected in EXPECTED.items():
        array = tensors[key]
        np.testing.assert_array_equal(array.astype(expected.dtype), expected, err_msg=key, strict=True)
        assert array.dtype.name == {"bfloat16": "bfloat16"}.get(key, expected.dtype.name)
        assert array.flags.c_contiguous


def test_a_checkpoint_with_a_pickle_alone_has_the_weights_of_the_other(tmp_path):
    folder = copy_golden("hugging_face_classification", tmp_path)
    tensors = load_file(folder / "model.safetensors")
    write_pickle({"bert.embeddings.position_ids": np.arange(26)[None], **tensors}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    check_equal_weights(read_model(folder), known_model("hugging_face_classification"))


def test_shards_of_pickles(tmp_path):
    for number in range(2):
        write_pickle({f"t{number}": NUMBERS + number}, tmp_path / f"pytorch_model-{number}.bin")
    places = '{"weight_map": {"t0": "pytorch_model-0.bin", "t1": "pytorch_model-1.bin"}}'
    (tmp_path / "pytorch_model.bin.index.json").write_text(places)
    np.testing.assert_array_equal(open_tensors(tmp_path)["t1"], NUMBERS + 1)


def test_safetensors_come_before_a_pickle(tmp_path):
    folder = copy_golden("hugging_face_classification", tmp_path)
    shutil.copy(FILES / "module.bin", folder / "pytorch_model.bin")
    read_model(folder)


class Command:
    """Its pickle runs a command when `pickle` reads it."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        import os

        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("archived", [True, False])
def test_nothing_in_a_pickle_is_run(protocol, archived, tmp_path):
    content = pickle.dumps({"weight": Command(tmp_path / "ran")}, protocol)
    file = tmp_path / "pytorch_model.bin"
    if archived:
        write_archive(file, content, {})
    else:
        file.write_bytes(content)
    with pytest.raises(ValueError, match=r"pytorch_model.bin is not read as tensors, and nothing in it was run: it"):
        open_pickled(file)
    assert not (tmp_path / "ran").exists()
    pickle.loads(content)
    assert (tmp_path / "ran").exists(), "the pickle is one that runs"


@pytest.mark.parametrize(
    ("file", "reason"),
    [
        ("module.bin", "it names 'torch.nn.modules.linear.Linear', which is no part of a tensor"),
        ("nested.bin", "it holds no state dict, whose values are tensors"),
    ],
)
def test_a_pickle_of_more_than_tensors_is_refused_with_the_way_to_convert(file, reason):
    with pytest.raises(ValueError, match=rf"{file} is not read as .*: {reason}; download .* safetensors.*save_pretr"):
        open_pickled(FILES / file)


WEIGHT = text("weight")


def of_storage(offset, shape, strides, count=24, storage="FloatStorage"):
    return b"\x80\x02}" + WEIGHT + tensor("0", storage, count, offset, shape, strides) + b"s."


@pytest.mark.parametrize(
    ("content", "message"),
    [
        # A tensor that reaches out of its storage, or repeats its numbers without end.
        (of_storage(1, (4, 6), (6, 1)), r"must lie within its 24 numbers, got \(1, \(4, 6\), \(6, 1\)\)"),
        (of_storage(-1, (4, 6), (6, 1)), "must have whole numbers for its place"),
        (of_storage(23, (2,), (-1,)), "must have whole numbers for its place"),
        (of_storage(0, (2**31 - 1,) * 4, (0,) * 4), "must lie within its 24 numbers"),
        (of_storage(0, (4, 6), (6,)), "must have whole numbers for its place"),
        (of_storage(0, (4,), (1,), storage="ComplexFloatStorage"), "it names 'torch.ComplexFloatStorage'"),
        # Instructions without end, nested values, a memo that is far away, cycles.
        (b"\x80\x02" + b"]" * 500_001 + b".", "more than 500000 instructions"),
        (b"\x80\x02" + b"]" + b"\x85" * 400_000 + b".", "holds no state dict"),
        (b"\x80\x02}" + b"]" + b"\x85" * 100_000 + b"]s.", "needs a str, got a tuple"),
        (b"\x80\x02}r\xff\xff\xff\xff" + WEIGHT + b"]s.", "holds no state dict"),
        (b"\x80\x02}q\x00X\x01\x00\x00\x00ah\x00s.", "holds no state dict"),
        (b"\x80\x02j\xff\xff\xff\xff.", "is not a whole file of PyTorch"),
        (b"\x80\x02X\xff\xff\xff\x7fa.", "is not a whole file of PyTorch"),
        (b"\x80\x02\x8b\xff\xff\xff\x7fa.", "is not a whole file of PyTorch"),
        # Calls of what is allowed in other ways than PyTorch calls it.
        (b"\x80\x02" + name("collections", "OrderedDict") + b"]" + b"\x85R.", "calls 'collections OrderedDict' with 1"),
        (b"\x80\x02" + name("torch", "FloatStorage") + b"(tR.", "calls 'torch FloatStorage' with 0 arguments"),
        (b"\x80\x02" + text("os system") + text("true") + b"\x85R.", "calls 'os system' with 1 arguments"),
        (b"\x80\x02" + name("torch._utils", "_rebuild_tensor_v2") + text("x") + b"\x85R.", "is not a whole file"),
        (b"\x80\x02" + name("builtins", "eval") + b".", "it names 'builtins.eval'"),
        (b"\x80\x02]}b.", "needs a dict, got a list"),
        (b"", "is not a whole file of PyTorch .* bytes"),
        (b"\x80\x02", "is not a whole file of PyTorch"),
    ],
)
def test_pickles_that_are_made_to_harm(content, message, tmp_path):
    write_archive(tmp_path / "pytorch_model.bin", content, {"0": NUMBERS.tobytes()})
    with pytest.raises(ValueError, match=message) as refused:
        open_pickled(tmp_path / "pytorch_model.bin")
    assert "pytorch_model.bin" in str(refused.value)
    assert len(str(refused.value)) < 700


def test_zip_files_that_are_made_to_harm(tmp_path):
    file = tmp_path / "pytorch_model.bin"
    zeros = np.zeros(1_000_000, "float32")
    write_archive(file, pickle_of({"weight": zeros}), {"0": zeros.tobytes()}, zipfile.ZIP_DEFLATED)
    with pytest.raises(ValueError, match=r"byteorder must be stored whole and without compression"):
        open_pickled(file)
    write_archive(file, of_storage(0, (4, 6), (6, 1)), {"0": NUMBERS.tobytes()[:-4]})
    with pytest.raises(ValueError, match="the storage '0' must hold 24 numbers, got 23"):
        open_pickled(file)["weight"]
    write_archive(file, of_storage(0, (4, 6), (6, 1)), {"1": NUMBERS.tobytes()})
    with pytest.raises(ValueError, match="'data/0'"):
        open_pickled(file)["weight"]


def test_a_cut_file_and_a_pointer_say_what_to_do(tmp_path):
    file = tmp_path / "pytorch_model.bin"
    for golden in ("zip.bin", "old.bin"):
        content = (FILES / golden).read_bytes()
        for size in (0, 1, 2, 100, len(content) // 2, len(content) - 1):
            file.write_bytes(content[:size])
            with pytest.raises(ValueError, match=rf"not a whole file of PyTorch \({size} bytes\): .* cut short"):
                open_pickled(file)
    file.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n")
    with pytest.raises(ValueError, match=r"it is a Git LFS pointer: run `git lfs pull`"):
        open_pickled(file)


@pytest.mark.parametrize("golden", ["zip.bin", "old.bin"])
def test_corrupted_files_are_read_or_refused(golden, tmp_path):
    file, content, refused = tmp_path / "pytorch_model.bin", (FILES / golden).read_bytes(), []
    for number in range(300):
        file.write_bytes(mutate(content, random.Random(f"{golden}/{number}")))
        try:
            tensors = open_pickled(file)
            assert all(tensors[key].size <= 24 for key in tensors)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 100
    assert all("pytorch_model.bin" in message and "\n" not in message for message in refused)


def test_numbers_of_a_big_endian_machine_are_refused(tmp_path):
    content = (FILES / "old.bin").read_bytes()
    place = content.index(b"little_endian") + len("little_endian")
    assert content[place : place + 3] == b"q\x02\x88"
    (tmp_path / "old.bin").write_bytes(content[: place + 2] + b"\x89" + content[place + 3 :])
    with pytest.raises(ValueError, match="its numbers are not little-endian"):
        open_pickled(tmp_path / "old.bin")
    assert struct.pack("=i", 1) == struct.pack("<i", 1)
    assert whole(1)[1:] == struct.pack("<i", 1)
