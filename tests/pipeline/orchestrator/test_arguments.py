"""Arguments of every step of the repository's jobs are the same behind JSON, and a file's types are no door."""

import json
import re
from pathlib import Path

import pytest

from components.artifacts.standard import Corpus
from components.dsl.step_folders import StepFolders
from components.sources.pushed_version import PreviousVersion
from pipeline.job.files import load_settings
from pipeline.orchestrator.arguments import decode_argument, encode_argument
from pipeline.pipelines import build_pipeline
from tests.pipeline.settings.texts import CORPUS, EXAMPLES, load

REPOSITORY = Path(__file__).parents[3]
JOBS = sorted([*REPOSITORY.glob("examples/jobs/*.toml"), *REPOSITORY.glob("benchmarks/budgets/*_*.toml")])
VARIANT = "[encoder.variant]\nkind = 'deberta'\n"


def behind_json(value):
    return decode_argument(json.loads(json.dumps(encode_argument(value))))


def check_all(pipeline):
    values = [value for node in pipeline.nodes for value in node.values.values()]
    assert [behind_json(value) for value in values] == values
    assert [*map(type, map(behind_json, values))] == [*map(type, values)]
    return len(values)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.stem)
def test_arguments_of_jobs(job):
    assert check_all(build_pipeline(load_settings(job), Path("root"))) > 10


def test_arguments_of_a_variant_of_the_graph(tmp_path):
    for text in (CORPUS + VARIANT + EXAMPLES, CORPUS + VARIANT):
        assert check_all(build_pipeline(load(tmp_path, text), Path("root")))


def test_artifacts_folders_and_numbers(tmp_path):
    corpus, folders = Corpus(tmp_path / "corpus"), StepFolders(tmp_path / "a", None, tmp_path / "b")
    (one, absent), decoded = behind_json([corpus, None]), behind_json(folders)
    assert (type(one), one.path, absent, decoded) == (Corpus, corpus.path, None, folders)
    numbers = {"learning rate": 0.1 + 0.2, "limit": float("inf"), "layers": (0, -1), "names": [(), {}, True]}
    assert behind_json(numbers) == numbers
    assert behind_json(PreviousVersion("pushed")) == PreviousVersion("pushed")


@pytest.mark.parametrize("value", [object(), {1: "a"}, {"a": {2}}, 1j])
def test_refuses_what_has_no_form_in_json(value):
    with pytest.raises(TypeError, match="an argument must be made of plain values and dataclasses, got"):
        encode_argument(value)


@pytest.mark.parametrize("name", ["os:system", "subprocess:Popen", "builtins:eval", "builtins:list", "none:None"])
def test_a_file_of_the_root_names_no_code(name):
    with pytest.raises(TypeError, match="an argument must"):
        decode_argument({"type": name, "content": ["touch", "door"]})


def test_no_module_reads_pickles():
    imports = re.compile(r"^\s*(?:import|from) (?:pickle|cloudpickle|dill|joblib|marshal|shelve)\b", re.MULTILINE)
    files = [
        file
        for package in ("keras_bert", "components", "pipeline", "plugins")
        for file in (REPOSITORY / package).rglob("*.py")
    ]
    assert len(files) > 400
    assert not [file for file in files if imports.search(file.read_text())]
