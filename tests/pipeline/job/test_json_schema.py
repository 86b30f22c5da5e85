"""The JSON schema of the job file says what the reader of the file does."""

import json
import tomllib
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest

from pipeline.cli import main
from pipeline.job.files import DEFAULT_JOB
from pipeline.job.json_schema import job_schema
from tests.pipeline.command_line import refused, said

TOP = Path(__file__).parents[3]
JOBS = [DEFAULT_JOB, *sorted(TOP.glob("example*.toml")), *sorted(TOP.glob("benchmarks/**/*.toml"))]
LEARNING_RATES = {"PretrainingSettings": 1e-4, "DistillationSettings": 1e-4, "QuantizationSettings": 2e-5}


@pytest.fixture(scope="module")
def schema():
    return job_schema()


def _problems(schema, job):
    return [error.json_path for error in jsonschema.Draft7Validator(schema).iter_errors(job)]


def test_the_schema_is_one(schema):
    jsonschema.Draft7Validator.check_schema(schema)


@pytest.mark.parametrize("job", JOBS, ids=lambda path: path.stem)
def test_the_jobs_of_the_repository_follow_it(schema, job):
    tables = tomllib.loads(job.read_text())
    # Benchmarks have tables of plug-ins.
    if find_spec("plugins") is None and (unknown := tables.keys() - schema["properties"].keys()):
        pytest.skip(f"needs the plug-ins of {', '.join(sorted(unknown))}")
    assert _problems(schema, tables) == []


@pytest.mark.parametrize(
    ("toml", "place"),
    [
        ("max_length = 4", "$.max_length"),
        ('max_length = "128"', "$.max_length"),
        ('pooling = "max"', "$.pooling"),
        ("[pretraining]\nstep = 5", "$.pretraining"),
        ('[distillation]\ntemperature = "warm"', "$.distillation.temperature"),
        ("learning_rate = 1e-4", "$"),
        ('[adaptation]\nkind = "lora"\nranks = 8', "$.adaptation"),
        ('[encoder.variant]\nkind = "sliding"', "$.encoder.variant"),
        ('[examples]\ntask = "clasification"\ntrain = "a.tsv"', "$.examples"),
    ],
)
def test_a_wrong_setting_is_marked_in_its_place(schema, toml, place):
    complete = {"encoder": {"num_layers": 1, "hidden_size": 8, "num_heads": 1, "intermediate_size": 8}}
    job = tomllib.loads(toml)
    if "encoder" in job:
        job["encoder"] |= complete["encoder"]
    assert _problems(schema, job) == [place]


def test_defaults_are_those_of_each_table(schema):
    rates = {name: schema["$defs"][name]["properties"]["learning_rate"]["default"] for name in LEARNING_RATES}
    assert rates == LEARNING_RATES
    assert schema["properties"]["max_length"]["default"] == 128
    assert "default" not in schema["properties"]["stride"], "TOML has no null"


def test_every_setting_of_a_table_has_a_description(schema):
    fields = {
        f"{name}.{key}": entry for name, table in schema["$defs"].items() for key, entry in table["properties"].items()
    }
    assert [name for name, entry in fields.items() if not entry.get("description")] == []


def test_the_verb_writes_it(tmp_path, capfd):
    printed = said(capfd, "schema")
    assert json.loads(printed) == job_schema()
    assert main(["schema", "--out", str(tmp_path / "job.schema.json")]) == 0
    assert (tmp_path / "job.schema.json").read_text() == printed
    line = refused(capfd, "schema", "--out", tmp_path)
    assert line == f"--out must be a file that can be written, got {tmp_path}: Is a directory"
