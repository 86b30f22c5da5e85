"""The originals that dropped duplicates name: each partition of texts is read once, in its order."""

import json
import uuid
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from components.corpus.index import read_texts
from components.corpus.partitions import split_number
from components.corpus.plan import find_requests, load_plan
from components.corpus.slices import read_slices, write_slices


def write_originals(partition: int, plan: str, partitions: int, scratch: str) -> str | None:
    """Writes the details of all duplicates whose original is in a partition, in slices by partition of the duplicate.

    The name of the file is random: Beam may write it twice. None if the partition has no original.
    """
    table = find_requests(plan).read(partition)
    if not len(table):
        return None
    originals, members = np.unique(table[:, 0], return_inverse=True)
    texts = load_plan(plan)[partition]
    records = read_texts(texts.texts, texts.load()[split_number(originals)[1]])
    details = [f"of {json.loads(line)['id']} in {json.loads(note)['source']}" for line, note in records]
    slices: list[dict[str, list[int]]] = [{} for _ in range(partitions)]
    columns = (column.tolist() for column in (*split_number(table[:, 1]), members))
    for owner, row, original in zip(*columns, strict=True):
        slices[owner].setdefault(details[original], []).append(row)
    contents = [json.dumps(details_of).encode() for details_of in slices]
    file = Path(scratch) / f"{uuid.uuid4().hex}.originals"
    write_slices(file, [(b"".join(contents), np.cumsum([0, *map(len, contents)]))])
    return str(file)


def read_originals(files: Iterable[str], partition: int, partitions: int) -> dict[int, str]:
    """The details of the duplicates in a partition, by row."""
    return {
        row: detail
        for file in files
        for detail, rows in json.loads(read_slices(Path(file), partition, partitions)[0]).items()
        for row in rows
    }
