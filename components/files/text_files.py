"""Streams the lines of the user's files, compressed or not; errors name the line or offset."""

import bz2
import gzip
import re
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import IO, Any

from components.dsl.errors import InputError
from components.objects.downloads import is_downloaded, local_file

COMPRESSIONS = (".gz", ".bz2", ".zst")

_CHUNK = 1 << 20
# zstandard unpacks all bytes that it is given without a limit on the output, so it is given few at a time: 4 bytes may
# be a block of 128 KiB, so that 4 KiB become at most 128 MiB.
_PACKED_CHUNK = 1 << 12
# In bytes. Without a limit a small compressed file would fill the memory.
_LONGEST_LINE = 1 << 28
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")
_POINTER = b"version https://git-lfs.github.com/spec/"
_SURROGATE = re.compile(r"[\ud800-\udfff]")


def is_remote(path: str) -> bool:
    """Whether a path is in object storage, such as `s3://...`, or another file system of fsspec."""
    return _SCHEME.match(path) is not None


def extension(file: str) -> str:
    """The kind of a file's content: `.jsonl` of `a.jsonl.gz`, always in lower case."""
    suffixes = [suffix.lower() for suffix in PurePath(file).suffixes]
    if suffixes and suffixes[-1] in COMPRESSIONS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def find_file_system(address: str) -> tuple[Any, str]:
    """The file system of fsspec that serves an address, and the path there."""
    from fsspec.core import url_to_fs

    system, path = url_to_fs(address)
    return system, path


def open_binary(file: str) -> IO[bytes]:
    """Opens a file without unpacking it."""
    try:
        if is_remote(file) and not is_downloaded(file):
            system, path = find_file_system(file)
            remote: IO[bytes] = system.open(path, "rb")
            return remote
        stream = (local_file(file) if is_downloaded(file) else Path(file)).open("rb")
        is_pointer = stream.peek(len(_POINTER)).startswith(_POINTER)
    except FileNotFoundError:
        raise InputError(f"the file {file} must exist, found nothing there") from None
    except (ImportError, OSError, ValueError) as error:
        raise InputError(f"the file {file} must be readable, got {_reason(error)}") from None
    if is_pointer:
        raise InputError(f"the file {file} must have its content, got a pointer of Git LFS; run git lfs pull")
    return stream


def read_chunks(file: str) -> Iterator[bytes]:
    """The content of a file piece by piece, unpacked if its name ends in `.gz`, `.bz2` or `.zst`."""
    suffix = PurePath(file).suffix.lower()
    done = 0
    with open_binary(file) as stream:
        try:
            source: Any = stream
            if suffix == ".gz":
                source = gzip.GzipFile(fileobj=stream, mode="rb")
            elif suffix == ".bz2":
                source = bz2.BZ2File(stream)
            for chunk in _unpack_frames(stream) if suffix == ".zst" else iter(lambda: source.read(_CHUNK), b""):
                done += len(chunk)
                yield chunk
        except (EOFError, OSError, zlib.error, _Broken) as error:
            rule = f"a whole {suffix} file" if suffix in COMPRESSIONS else "readable"
            raise InputError(f"the file {file} must be {rule}, got after {done} bytes: {_reason(error)}") from None


class Lines(Iterator[str]):
    r"""The lines of a UTF-8 file without their ends (`\n`, `\r\n` or `\r`), and without a byte order mark.

    The file may be compressed. Bytes that are not UTF-8 are an error if `strict`; else they become U+FFFD, and
    `take_problem` reports them. `number` is that of the last line that was read, from 1, and `end` its line end.
    """

    def __init__(self, file: str, *, strict: bool = True) -> None:
        self.file = file
        self.number = 0
        self.end = ""
        self._strict = strict
        self._lines = _split_lines(read_chunks(file))
        self._offset = 0
        self._bad: int | None = None

    def __next__(self) -> str:
        """The next line."""
        line = next(self._lines)
        self.number += 1
        if len(line) > _LONGEST_LINE:
            raise InputError(f"{self.file} line {self.number} must have at most {_LONGEST_LINE} bytes, got more")
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            place = self._offset + error.start
            if self._strict:
                byte = line[error.start]
                raise InputError(f"{self.file} must be UTF-8, got byte 0x{byte:02x} at offset {place}") from None
            self._bad = place if self._bad is None else self._bad
            text = line.decode(errors="replace")
        self._offset += len(line)
        end = len(text.rstrip("\r\n"))
        text, self.end = text[:end], text[end:]
        return text.removeprefix("\ufeff") if self.number == 1 else text

    def take_problem(self) -> str | None:
        """The first bytes that are not UTF-8 in the lines since the last call, in words; None if there are none.

        Their offset counts from the start of the unpacked file.
        """
        bad, self._bad = self._bad, None
        return None if bad is None else f"bytes that are not UTF-8 at offset {bad}"


def repair(value: str | bytes) -> tuple[str, str | None]:
    r"""A value as valid Unicode, with U+FFFD for invalid parts, and a description of the first of these, or None.

    JSON may contain a lone surrogate, such as "\ud83d", which no UTF-8 file can hold; Parquet and Arrow do not
    check their strings.
    """
    if isinstance(value, bytes):
        try:
            return value.decode(), None
        except UnicodeDecodeError as error:
            return value.decode(errors="replace"), f"bytes that are not UTF-8 at offset {error.start}"
    lone = _SURROGATE.search(value)
    return (value, None) if lone is None else (_SURROGATE.sub("\ufffd", value), f"the lone surrogate {lone[0]!r}")


def is_unicode(text: str) -> bool:
    """Whether a text has no lone surrogate, which no UTF-8 file can hold."""
    return _SURROGATE.search(text) is None


class _Broken(Exception):
    """Raised for a file that zstandard cannot unpack."""


def _unpack_frames(stream: IO[bytes]) -> Iterator[bytes]:
    """All frames of a zstandard file; its stream reader would take a file that is cut short for a whole one."""
    import zstandard

    frame = None
    while packed := stream.read(_PACKED_CHUNK):
        while packed:
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            try:
                chunk = frame.decompress(packed)
            except zstandard.ZstdError as error:
                raise _Broken(str(error)) from None
            if chunk:
                yield chunk
            packed = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    if frame is not None:
        raise EOFError("the file ended before its last frame did")


def _split_lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Lines with their ends, of a line that is too long only the start; a line in many chunks is joined once."""
    start: list[bytes] = []
    size = 0
    for chunk in chunks:
        # Only the next chunk shows whether a carriage return at the end of a chunk is the first half of "\r\n".
        is_ended = start and start[-1].endswith(b"\r") and not chunk.startswith(b"\n")
        if is_ended or size > _LONGEST_LINE:
            yield b"".join(start)
            start, size = [], 0
        lines = chunk.splitlines(keepends=True)
        rest = [] if chunk.endswith(b"\n") else [lines.pop()]
        if lines:
            yield b"".join([*start, lines[0]])
            yield from lines[1:]
            start = rest
        else:
            start += rest
        size = sum(map(len, rest)) + (0 if lines else size)
    if start:
        yield b"".join(start)


def _reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)
