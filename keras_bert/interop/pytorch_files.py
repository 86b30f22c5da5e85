"""Reads the tensors of PyTorch's files, such as `pytorch_model.bin`; neither PyTorch nor any code in a file runs.

A pickle is a program for a stack machine. The pickle of a state dict needs few instructions, and the functions that it
calls only describe tensors: `_follow` knows these by name, imports nothing, and refuses every other name. Both formats
of `torch/serialization.py` are read: the zip file of PyTorch 1.6 and later, and the format before it. `torch.load` does
not read them here: the project has no PyTorch, and a checkpoint that has only `pytorch_model.bin` opens without it.
"""

import functools
import io
import mmap
import pickletools
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from keras_bert.interop.weights import Array, Tensors, damaged_file

_DTYPES: dict[str, Any] = {
    "torch FloatStorage": np.float32,
    "torch HalfStorage": np.float16,
    "torch BFloat16Storage": ml_dtypes.bfloat16,
    "torch DoubleStorage": np.float64,
    "torch LongStorage": np.int64,
    "torch IntStorage": np.int32,
    "torch ShortStorage": np.int16,
    "torch CharStorage": np.int8,
    "torch ByteStorage": np.uint8,
    "torch BoolStorage": np.bool_,
}
_TENSORS = ("torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_tensor")
_PARAMETER = "torch._utils _rebuild_parameter"
_DICTIONARY = "collections OrderedDict"
_NAMES = (*_DTYPES, *_TENSORS, _PARAMETER, _DICTIONARY)
_ARGUMENTS = ("BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINUNICODE", "SHORT_BINSTRING")
_VALUES: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_TUPLE": tuple,
    "EMPTY_LIST": list,
    "EMPTY_DICT": dict,
}
# A tensor takes about 45: a limit of memory, as an instruction of one byte can take a hundred.
_MOST_INSTRUCTIONS = 500_000
# The first value of a file before PyTorch 1.6, then the version of its format.
_MAGIC, _VERSION = 0x1950A86A20F9469CFC6C, 1001
_CONVERT = (
    "download the repository's safetensors, or, if you trust the file, convert it where PyTorch is installed: "
    "transformers' AutoModel.from_pretrained(folder).save_pretrained(other) writes them"
)


class _Storage(NamedTuple):
    """Numbers that tensors share."""

    key: str
    dtype: Any
    length: int


class _StoredTensor(NamedTuple):
    """Its place in a storage; `strides` and `offset` count numbers."""

    storage: _Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


class _RefusedPickleError(Exception):
    """A pickle holds more than tensors."""


def open_pickled(path: Path) -> Tensors:
    """The tensors of one file, each read from it on access."""
    try:
        with path.open("rb") as file:
            opener = _open_zip if file.read(2) == b"PK" else _open_old
        described, read = opener(path)
        if not isinstance(described, dict) or not all(
            isinstance(tensor, _StoredTensor) for tensor in described.values()
        ):
            raise _RefusedPickleError("it holds no state dict, whose values are tensors")
        for tensor in described.values():
            _check_place(tensor)
    except _RefusedPickleError as error:
        raise ValueError(f"{path} is not read as tensors, and nothing in it was run: {error}; {_CONVERT}") from error
    except _DAMAGE as error:
        raise damaged_file(path, "file of PyTorch", error) from error
    return Tensors({name: functools.partial(_read_tensor, path, read, tensor) for name, tensor in described.items()})


# What the readers of a zip file and of a pickle raise for bytes that are none.
_DAMAGE = (LookupError, OverflowError, RuntimeError, TypeError, ValueError, EOFError, zipfile.BadZipFile)


def _open_zip(path: Path) -> tuple[Any, Callable[[_Storage], Any]]:
    """What the pickle of a zip file describes, and the function that reads a storage."""
    archive = zipfile.ZipFile(path)
    entries = {entry.filename.partition("/")[2]: entry for entry in archive.infolist()}

    def read(name: str) -> bytes:
        entry = entries[name]
        # PyTorch compresses nothing: a few bytes cannot become many.
        is_inside = 0 <= entry.header_offset <= path.stat().st_size - entry.file_size
        if entry.compress_type != zipfile.ZIP_STORED or not is_inside:
            raise ValueError(f"{name} must be stored whole and without compression")
        return archive.read(entry)

    if "byteorder" in entries and read("byteorder") != b"little":
        raise _RefusedPickleError("its numbers are not little-endian")
    return _follow(io.BytesIO(read("data.pkl"))), lambda storage: read(f"data/{storage.key}")


def _open_old(path: Path) -> tuple[Any, Callable[[_Storage], Any]]:
    """The same of a file before PyTorch 1.6: five pickles, then the storages in the order of the last one's keys."""
    with path.open("rb") as opened:
        content = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    if [_follow(content), _follow(content)] != [_MAGIC, _VERSION]:
        raise ValueError("it does not begin as one")
    if not _follow(content)["little_endian"]:
        raise _RefusedPickleError("its numbers are not little-endian")
    storages: dict[str, _Storage] = {}
    described, keys = _follow(content, storages), _follow(content)
    places, position = {}, content.tell()
    for key in keys:
        size = storages[key].length * np.dtype(storages[key].dtype).itemsize
        # The number of numbers stands in front of them.
        count = int.from_bytes(content[position : position + 8], "little")
        if count != storages[key].length or position + 8 + size > len(content):
            raise ValueError(f"the storage {key!r} must hold {storages[key].length} numbers")
        places[key] = slice(position + 8, position + 8 + size)
        position += 8 + size
    return described, lambda storage: memoryview(content)[places[storage.key]]


def _read_tensor(path: Path, read: Callable[[_Storage], Any], tensor: _StoredTensor) -> Array:
    storage = tensor.storage
    try:
        numbers = np.frombuffer(read(storage), storage.dtype)
        if numbers.size != storage.length:
            raise ValueError(f"the storage {storage.key!r} must hold {storage.length} numbers, got {numbers.size}")
    except _DAMAGE as error:
        raise damaged_file(path, "file of PyTorch", error) from error
    strides = [stride * numbers.itemsize for stride in tensor.strides]
    view = np.lib.stride_tricks.as_strided(numbers[tensor.offset :], tensor.shape, strides, writeable=False)
    return np.ascontiguousarray(view).reshape(tensor.shape)


def _check_place(tensor: _StoredTensor) -> None:
    """Checks that a tensor lies within its storage, and has no more numbers than the storage."""
    storage, offset, shape, strides = tensor
    numbers = (storage.length, offset, *shape, *strides)
    if len(shape) != len(strides) or not all(type(number) is int and 0 <= number < 1 << 48 for number in numbers):
        raise ValueError(f"a tensor must have whole numbers for its place, got {tensor[1:]}")
    size = int(np.prod(shape, dtype=object))
    last = offset + sum((length - 1) * stride for length, stride in zip(shape, strides, strict=True))
    if size > storage.length or (size and last >= storage.length):
        raise ValueError(f"a tensor must lie within its {storage.length} numbers, got {tensor[1:]}")


def _follow(file: Any, storages: dict[str, _Storage] | None = None) -> Any:
    """The value of a pickle, which is read from its place in a file; `storages` collects those that it names."""
    stack: list[Any] = []
    marks: list[int] = []
    memo: dict[int, Any] = {}
    argument: Any

    def after_mark() -> list[Any]:
        start = marks.pop()
        values = stack[start:]
        del stack[start:]
        return values

    for count, (instruction, argument, _) in enumerate(pickletools.genops(file)):
        name = instruction.name
        if count > _MOST_INSTRUCTIONS:
            raise _RefusedPickleError(f"its pickle has more than {_MOST_INSTRUCTIONS} instructions")
        if name in _ARGUMENTS:
            stack.append(argument)
        elif name in _VALUES:
            stack.append(_VALUES[name]())
        elif name == "MARK":
            marks.append(len(stack))
        elif name in ("BINPUT", "LONG_BINPUT"):
            memo[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(memo[argument])
        elif name == "TUPLE":
            stack.append(tuple(after_mark()))
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            stack.append(tuple(reversed([stack.pop() for _ in range(int(name[-1]))])))
        elif name in ("APPEND", "APPENDS"):
            values = [stack.pop()] if name == "APPEND" else after_mark()
            _typed(stack[-1], list).extend(values)
        elif name in ("SETITEM", "SETITEMS"):
            pairs = [stack.pop(-2), stack.pop()] if name == "SETITEM" else after_mark()
            keys = [_typed(key, str) for key in pairs[::2]]
            _typed(stack[-1], dict).update(zip(keys, pairs[1::2], strict=True))
        elif name == "GLOBAL":
            if argument not in _NAMES:
                raise _RefusedPickleError(f"it names {argument.replace(' ', '.')!r}, which is no part of a tensor")
            stack.append(argument)
        elif name == "REDUCE":
            stack.append(_call(stack.pop(-2), _typed(stack.pop(), tuple)))
        elif name == "BUILD":
            # The attribute `_metadata` of a state dict, the versions of its modules.
            stack.pop()
            _typed(stack[-1], dict)
        elif name == "BINPERSID":
            storage = _storage_of(*_typed(stack.pop(), tuple))
            stack.append(storage)
            if storages is not None:
                storages[storage.key] = storage
        elif name == "STOP":
            return stack.pop()
        elif name != "PROTO":
            raise _RefusedPickleError(f"its pickle has the instruction {name}, which tensors do not need")
    raise EOFError("its pickle has no end")


def _typed(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"its pickle needs a {kind.__name__}, got a {type(value).__name__}")
    return value


def _call(function: str, arguments: tuple[Any, ...]) -> Any:
    """The value of a call of one of `_NAMES`, of which further arguments do not matter."""
    if function == _DICTIONARY and not arguments:
        return {}
    if function == _PARAMETER:
        return _typed(arguments[0], _StoredTensor)
    if function not in _TENSORS:
        raise _RefusedPickleError(f"its pickle calls {str(function)[:100]!r} with {len(arguments)} arguments")
    storage, offset, shape, strides = arguments[:4]
    return _StoredTensor(_typed(storage, _Storage), offset, _typed(shape, tuple), _typed(strides, tuple))


def _storage_of(kind: Any, dtype: Any, key: Any, device: Any, count: Any, view: Any = None) -> _Storage:
    if kind != "storage" or view is not None or not isinstance(dtype, str) or dtype not in _DTYPES:
        raise _RefusedPickleError(f"it holds a storage of the type {str(dtype)[:100]!r}, which is not supported")
    return _Storage(_typed(key, str), _DTYPES[dtype], _typed(count, int))
