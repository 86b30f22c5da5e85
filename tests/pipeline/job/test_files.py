"""Reading settings: files, overrides, paths; every refusal names key, rule, value and the nearest known key."""

import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from components.beam.engine import BeamOptions
from components.dsl.errors import InputError
from components.files.paths import match_files
from components.sources.checkpoint import Checkpoint
from components.sources.table import TableSource
from components.sources.text import TextSource
from pipeline.capabilities import JobSettings
from pipeline.commands.command import refresh_commits
from pipeline.job.files import load_settings, override_tables
from tests.hub import hub
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, keys_of, load, refusal

__all__ = ["hub"]

ROOT = Path(__file__).parents[3]
EXAMPLE_FILES = ("examples/jobs/example.toml", "examples/jobs/from_scratch.toml")


def test_without_a_file_the_default_job_is_read():
    settings = load_settings(None)
    assert settings.name == "word_order"
    assert settings.examples is not None


def test_overrides_change_the_default_job_too():
    assert load_settings(None, ["name=mine"]).name == "mine"


def test_paths_are_relative_to_the_folder_of_the_file(tmp_path):
    text = "[corpus]\npath = 'texts'\n" + CHECKPOINT + EXAMPLES + "test = '/data/test.tsv'\n[push]\nfolder = 'models'"
    settings = load(tmp_path, text)
    assert settings.corpus == TextSource(str(tmp_path / "texts"))
    assert settings.checkpoint == Checkpoint(str(tmp_path / "bert"))
    assert settings.examples == TableSource(str(tmp_path / "rows.tsv"), test="/data/test.tsv")
    assert settings.push.folder == str(tmp_path / "models")


def test_a_folder_whose_name_looks_like_a_pattern_is_none(tmp_path):
    folder = tmp_path / "a[b]"
    folder.mkdir()
    (folder / "rows-1.tsv").write_text("text\tlabel\n")
    (folder / "test[1].tsv").write_text("text\tlabel\n")
    text = CHECKPOINT + "[examples]\ntrain = 'rows-*.tsv'\ntest = 'test[1].tsv'\n[push]\nfolder = 'out*'\n"
    settings = load(folder, text)
    assert match_files(settings.examples.train, (".tsv",), what="the table") == [str(folder / "rows-1.tsv")]
    assert settings.examples.test == str(folder / "test[1].tsv")
    assert settings.push.folder == str(folder / "out*")


def test_a_path_that_is_empty_or_from_home_stays_so(tmp_path):
    assert load(tmp_path, CHECKPOINT + EXAMPLES + "[push]\nfolder = ''").push.folder == ""
    assert load(tmp_path, CHECKPOINT + EXAMPLES + "[push]\nfolder = '~/x'").push.folder == str(Path.home() / "x")


def test_paths_on_other_file_systems_and_in_packages_stay_as_they_are(tmp_path):
    settings = load(
        tmp_path,
        "[corpus]\npath = 'gs://bucket/texts'\n[examples]\ntrain = 'hdfs://rows.tsv'\n"
        "[checkpoint]\npath = 'package:some_package/folder'",
    )
    assert settings.corpus == TextSource("gs://bucket/texts")
    assert settings.examples == TableSource("hdfs://rows.tsv")
    assert settings.checkpoint == Checkpoint("package:some_package/folder")


def test_addresses_on_the_hub_are_pinned_to_commits_until_a_refresh(tmp_path, hub):
    repositories = [hub.add(name, {"README.md": b""}) for name in ("ann/bert", "datasets/ann/rows")]
    first = [repository.branches["main"] for repository in repositories]
    job = tmp_path / "job.toml"
    job.write_text("checkpoint.path = 'hf://ann/bert'\nexamples.train = 'hf://datasets/ann/rows/*.csv'\n")

    def commits():
        settings = load_settings(job)
        addresses = (settings.checkpoint.path, settings.examples.train)
        assert addresses[1].endswith("/*.csv")
        return [address.partition("@")[2].partition("/")[0] for address in addresses]

    assert commits() == first
    second = [repository.commit({"README.md": b"new"}) for repository in repositories]
    assert commits() == first
    refresh_commits(SimpleNamespace(settings=job, set=()))
    assert commits() == second
    with pytest.raises(InputError, match="hf://ann/none must be a repository that exists"):
        load_settings(job, ["checkpoint.path=hf://ann/none"])


def test_overrides_win_over_the_file(tmp_path):
    overrides = ["pretraining.steps=200", "name=mine", "corpus.path=/here", "student.num_layers=1"]
    settings = load(tmp_path, CORPUS + EXAMPLES + "[pretraining]\nsteps = 5", *overrides)
    assert (settings.pretraining.steps, settings.name) == (200, "mine")
    assert settings.corpus == TextSource("/here")
    assert settings.student is not None, "an override makes a table that the file lacks"
    assert settings.student.num_layers == 1


def test_an_override_may_have_several_lines(tmp_path):
    raw = override_tables({}, ["a.text=1\nnot = 2", "a.list=[1,\n2]"])
    assert raw["a"] == {"text": "1\nnot = 2", "list": [1, 2]}


def test_paths_of_overrides_are_relative_to_the_working_directory(tmp_path, monkeypatch):
    (tmp_path / "shell").mkdir()
    monkeypatch.chdir(tmp_path / "shell")
    settings = load(tmp_path, CORPUS + EXAMPLES, "push.folder=out", "corpus.path=gs://bucket/texts", "name=out")
    assert settings.push.folder == str(tmp_path / "shell" / "out"), "in another directory it is another place"
    assert settings.examples == TableSource(str(tmp_path / "rows.tsv")), "paths of the file keep to its folder"
    assert settings.corpus == TextSource("gs://bucket/texts")
    assert settings.name == "out"


def test_an_override_of_epochs_wins_over_steps_of_the_file(tmp_path):
    text = CHECKPOINT + EXAMPLES + "[fine_tuning]\nsteps = 5"
    settings = load(tmp_path, text, "fine_tuning.epochs=1")
    assert (settings.fine_tuning.steps, settings.fine_tuning.epochs) == (None, 1.0)
    both = load(tmp_path, text, "fine_tuning.epochs=1", "fine_tuning.steps=7")
    assert both.fine_tuning.steps == 7


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("fine_tuning.steps", "--set must be key=value, got 'fine_tuning.steps'"),
        ("fine_tuning.stepz=3", "there is no setting 'fine_tuning.stepz'; did you mean 'steps'?"),
        (
            "learning_rate=1e-4",
            "there is no setting 'learning_rate'; did you mean 'pretraining.learning_rate' or "
            "'fine_tuning.learning_rate' or 'general_distillation.learning_rate' or 'distillation.learning_rate' or "
            "'pruning.learning_rate' or 'quantization.learning_rate'?",
        ),
        ("recipe='float16'", "there is no setting 'recipe'; did you mean 'quantization.recipe'?"),
        ("name.x=3", "--set name.x: name is a value, not a table"),
        (
            "push.folder=hf://ann/small",
            "push.folder must be on this machine; --root s3://... pushes to object storage, and the command `publish` "
            "to the hub, got 'hf://ann/small'",
        ),
    ],
)
def test_overrides_are_as_strict(tmp_path, override, message):
    assert refusal(tmp_path, "name = 'a'\n" + CHECKPOINT + EXAMPLES, override) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[pretraining]\nstepz = 2", "there is no setting 'pretraining.stepz'; did you mean 'steps'?"),
        ("[pretrainning]\nsteps = 2", "there is no setting 'pretrainning'; did you mean 'pretraining'?"),
        (
            "[shape]\nnum_layers = 2",
            "there is no setting 'shape'; known: adaptation, beam, checkpoint, cleaning, contrast, ",
        ),
        ("seed = 1", "there is no setting 'seed'; did you mean 'seeds'?"),
        ("[distillation]\nepocs = 1", "there is no setting 'distillation.epocs'; did you mean 'epochs'?"),
        ("[fine_tuning]\npatient = 1", "there is no setting 'fine_tuning.patient'; did you mean 'patience'?"),
        ("[distillation.training]\nsteps = 1", "there is no setting 'distillation.training'; known: accumulation, "),
        ("[corpus]\npaht = 'x'", "corpus.path must be set; there is no setting 'corpus.paht'; did you mean 'path'?"),
        ("[corpus]\nrows = 9", "corpus.path must be set; there is no setting 'corpus.rows'"),
        ("[checkpoint]\npth = 'x'", "checkpoint.path must be set; there is no setting 'checkpoint.pth'; did you mean "),
        ("[examples]\ntext = 'x'", "examples.train must be set"),
        ("[examples]\ntrain = 'x'\nlable = 'y'", "there is no setting 'examples.lable'; did you mean 'label'?"),
        (
            "[examples]\ntrain = 'x'\nkilobytes = 1",
            "there is no setting 'examples.kilobytes'; known: ",
        ),
        (
            "[corpus]\npath = 'x'\nmegabytes = 2.0",
            "corpus.megabytes must be left out, as it does not go with the other keys of [corpus]",
        ),
        ("name = '../x'", "name must match pattern "),
        ("max_length = 10000", "max_length must be at most 8192, got 10000"),
        ("[pretraining]\nsteps = 'a'", "pretraining.steps must be a valid integer, got 'a'"),
        ("[pretraining]\nsteps = 2.5", "pretraining.steps must be a valid integer, got 2.5"),
        ("pretraining = 5", "pretraining must be a table, got 5"),
        ("corpus = 5", "corpus must be a table, got 5"),
        ("examples = 5", "examples must be a table, got 5"),
        ("checkpoint = 'bert'", "checkpoint must be a table, got 'bert'"),
        ("student = true", "student must be a table, got True"),
    ],
)
def test_a_refusal_names_key_rule_and_value(tmp_path, text, message):
    assert refusal(tmp_path, text).startswith(message)


def test_all_that_is_wrong_is_said_at_once(tmp_path):
    with pytest.raises(InputError, match=r"vocabulary.size must .*, got 5; masking.rate must .*, got 1.5"):
        load(tmp_path, "[masking]\nrate = 1.5\n[vocabulary]\nsize = 5")


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match=r"settings file .*missing.toml does not exist"):
        load_settings(tmp_path / "missing.toml")
    with pytest.raises(InputError, match=r"my.toml cannot be read: Invalid value \(at line 1"):
        load(tmp_path, "a = = 3")
    (tmp_path / "latin.toml").write_bytes("name = 'caf\u00e9'".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin.toml cannot be read"):
        load_settings(tmp_path / "latin.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = " + "[" * 5000 + "]" * 5000, "my.toml cannot be read: maximum recursion depth exceeded"),
        ("x = " + "[" * 100 + "]" * 100, "^x must be nested at most 20 deep, got more$"),
        ("[" + ".".join("a" * 5000) + "]\nb = 1", r"^a(\.a)+\.? must be nested at most 20 deep, got more$"),
    ],
    ids=["arrays", "fewer arrays", "tables"],
)
def test_tables_that_are_too_deep_are_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        load(tmp_path, text)


def test_overrides_that_are_too_deep_are_refused(tmp_path):
    for override in ("name=" + "[" * 5000 + "]" * 5000, "name=" + "[" * 100 + "]" * 100, ".".join("a" * 5000) + "=1"):
        with pytest.raises(InputError, match=r"name must|must be nested at most 20 deep, got more"):
            load(tmp_path, CHECKPOINT + EXAMPLES, override)


def test_texts_with_zero_bytes_are_refused(tmp_path):
    text = CHECKPOINT + EXAMPLES + '[push]\nfolder = "mod\\u0000els"'
    with pytest.raises(InputError, match=r"^push.folder must be a text without zero bytes, got 'mod\\x00els'$"):
        load(tmp_path, text)
    with pytest.raises(InputError, match=r"^name must be a text without zero bytes"):
        load(tmp_path, CHECKPOINT + EXAMPLES, "name=a\0b")


def test_the_engine_and_its_own_options(tmp_path):
    settings = load(
        tmp_path,
        CORPUS + "[beam]\nrunner = 'FlinkRunner'\n[beam.options]\nflink_master = 'localhost:8081'\nparallelism = 4\n",
    )
    assert settings.beam == BeamOptions(
        runner="FlinkRunner", options={"flink_master": "localhost:8081", "parallelism": 4}
    )


@pytest.mark.parametrize("name", EXAMPLE_FILES)
def test_the_examples_in_the_repository_are_accepted(name):
    settings = load_settings(ROOT / name)
    given = tomllib.loads((ROOT / name).read_text(encoding="utf-8"))
    assert settings.model_fields_set == set(given)
    assert settings.examples is not None


def mentioned(name):
    """The keys of a settings file and the names of its tables; those that are commented out count, too."""
    table, settings = "", set()
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        line = line.removeprefix("# ")
        key, equals, _ = line.partition(" = ")
        if line.startswith("["):
            table = line[1 : line.index("]")]
            settings.add(table)
        elif equals and key.isidentifier():
            settings.add(f"{table}.{key}".removeprefix("."))
    return settings


@pytest.mark.parametrize("name", EXAMPLE_FILES)
def test_every_key_of_the_examples_is_a_setting(name):
    known_keys = {key for key, _ in keys_of(JobSettings)} | set(JobSettings.model_fields)
    known_keys |= {key.rpartition(".")[0] for key in known_keys}
    # The keys of these two are the user's own.
    free = ("beam.options.", "fine_tuning.class_weights.")
    assert {key for key in mentioned(name) - known_keys if not key.startswith(free)} == set()


def test_a_name_is_at_most_as_long_as_that_of_a_folder():
    assert load_settings(None, [f"name={'a' * 255}"]).name == "a" * 255
    with pytest.raises(InputError, match=r"^name must have at most 255 characters, got 'aaa"):
        load_settings(None, [f"name={'a' * 256}"])
