"""Settings files for tests, from the least on, and the keys that they may have."""

import dataclasses
import json
from typing import get_args

import pytest

from components.dsl.errors import InputError
from pipeline.job.checks import check_data
from pipeline.job.files import load_settings
from pipeline.settings.schema import Settings

CHECKPOINT = "[checkpoint]\npath = 'bert'\n"
EXAMPLES = "[examples]\ntrain = 'rows.tsv'\n"
QUERIES = "[examples]\ntask = 'retrieval'\ntrain = 'rows.tsv'\n"
CORPUS = (
    "[corpus]\npath = 'texts'\n[encoder]\nnum_layers = 2\nhidden_size = 32\nnum_heads = 2\nintermediate_size = 64\n"
)


def load(folder, text, *overrides):
    """The settings of a file with this text."""
    file = folder / "my.toml"
    file.write_text(text)
    return load_settings(file, overrides)


def refusal(folder, text, *overrides):
    """The line that refuses such a file, by its keys alone or by the data that it names."""
    with pytest.raises(InputError) as caught:
        check_data(load(folder, text, *overrides))
    assert "\n" not in str(caught.value)
    return str(caught.value)


SIZES = {"num_hidden_layers": 2, "max_position_embeddings": 128, "hidden_size": 32}


def write_checkpoint(folder, **sizes):
    """A checkpoint of which the configuration alone can be read."""
    (folder / "bert").mkdir()
    (folder / "bert" / "config.json").write_text(json.dumps({"model_type": "bert", **(sizes or SIZES)}))
    for name in ("model.safetensors", "vocab.txt"):
        (folder / "bert" / name).touch()


def write_data(folder):
    """What the least settings name: a corpus, rows, and what looks like a checkpoint of 4 layers."""
    (folder / "texts").mkdir()
    (folder / "texts" / "some.txt").write_text("a text")
    (folder / "rows.tsv").write_text("text\tlabel\n" + "one\ta\ntwo\tb\n" * 10)
    write_checkpoint(folder, num_hidden_layers=4, num_attention_heads=2)


def write_queries(folder, rows):
    """The table of `QUERIES`: query, passage and negative of each row."""
    lines = ["query\tpassage\tnegative", *("\t".join(row) for row in rows)]
    (folder / "rows.tsv").write_text("\n".join(lines) + "\n")


def keys_of(kind, place=""):
    """The keys of tables and tables in them, as `fine_tuning.steps`, each with its type; a union counts one by one."""
    if isinstance(kind, type) and issubclass(kind, Settings):
        for name, field in kind.model_fields.items():
            yield from keys_of(field.annotation, name)
    elif isinstance(kind, type) and dataclasses.is_dataclass(kind):
        for setting in dataclasses.fields(kind):
            yield from keys_of(setting.type, f"{place}.{setting.name}")
    elif get_args(kind):
        for inner in get_args(kind):
            yield from keys_of(inner, place)
    else:
        yield place, kind
