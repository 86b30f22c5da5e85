"""The records of a model that `push` attaches to each of its files, and the size of a file with them."""

import dataclasses
import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path

from components.artifacts.evaluation import Metrics
from components.dsl.artifact import format_json
from components.sources.pushed_version import ORIGIN_FILE
from keras_bert.core.folders import EXPORT_FILE, METRICS_FILE
from keras_bert.export.attachments import attach_entries
from keras_bert.export.files import copy_model, count_bytes, count_download_bytes

RECORD_FILES = (EXPORT_FILE, METRICS_FILE, ORIGIN_FILE)
# What a pushed version is made of, see `push`.
ORIGINS = ("edge_model", "evaluation", "examples", "corpus")


def count_records(metrics: Metrics, files: Mapping[str, Path]) -> Metrics:
    """The metrics with the sizes that files have when they are pushed.

    The records hold the size itself, and digests that nobody knows before: other ones of the same length stand for
    them, with which compressed records differ by some bytes.
    """
    origin = {name: hashlib.sha256(name.encode()).hexdigest() for name in ORIGINS}
    models = dict(metrics.models)
    for name in files:  # a number about as long as the size after deflate
        models[name] = dataclasses.replace(models[name], download_megabytes=models[name].megabytes)
    metrics = dataclasses.replace(metrics, models=models)
    contents = {METRICS_FILE: format_json(metrics.as_json()), ORIGIN_FILE: format_json(origin)}
    for name, file in files.items():
        records = {EXPORT_FILE: (file.parent / EXPORT_FILE).read_text(encoding="utf-8"), **contents}
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_model(file, Path(folder))
            attach_entries(copy, {name: text.encode() for name, text in records.items()})
            models[name] = dataclasses.replace(
                models[name], megabytes=count_bytes(copy) / 1e6, download_megabytes=count_download_bytes(copy) / 1e6
            )
    return dataclasses.replace(metrics, models=models)
