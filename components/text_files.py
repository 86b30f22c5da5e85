"""Reading the user's files, with errors that say where."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from components.base import InputError, nearest

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def read_bytes(file: Path) -> bytes:
    """The content of a file.

    Raises:
        InputError: it is missing or cannot be read.
    """
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise InputError(f"the file {file} must exist, found nothing there") from None
    except OSError as error:
        raise InputError(f"the file {file} must be readable, got {error.strerror}") from None


def decode(content: bytes, file: Path) -> str:
    r"""UTF-8 text with `\n` line ends and without a byte order mark.

    Raises:
        InputError: the bytes are not UTF-8.
    """
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        byte = content[error.start]
        raise InputError(f"{file} must be UTF-8, got byte 0x{byte:02x} at offset {error.start}") from None
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def parse_json_lines(text: str, file: Path, fields: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The objects of a JSON lines file, empty lines left out.

    Raises:
        InputError: a line is no JSON object, lacks one of the fields, or has half a surrogate pair in one.
    """
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{file} line {number} must be a JSON object, got an error: {error.msg}") from None
        if not isinstance(record, dict):
            raise InputError(f"{file} line {number} must be a JSON object, got {line.strip()[:40]}")
        for field in fields:
            if field not in record:
                raise InputError(f"{file} line {number} has no field {field!r}{nearest(field, record)}")
            if not isinstance(record[field], str | int | float):
                raise InputError(f"{file} line {number}: field {field!r} must be text, got {record[field]!r}")
            record[field] = str(record[field])
            # JSON can write half a character, such as "\ud83d"; no UTF-8 file and no record can hold one.
            lone = _SURROGATE.search(record[field])
            if lone:
                raise InputError(
                    f"{file} line {number}: field {field!r} must be valid Unicode, got the lone surrogate {lone[0]!r}"
                )
        yield record
