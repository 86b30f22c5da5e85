"""Settings: what is accepted, and that every refusal names key, rule, value and the nearest known key."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pydantic
import pytest

from components.beam.engine import BeamOptions
from components.corpus.cleaning import Cleaning
from components.dsl.errors import InputError
from components.sources.docstrings import DocstringCorpus
from components.sources.table import TableSource
from components.sources.text import TextSource
from components.sources.word_order import DocstringTask
from pipeline.settings.schema import Settings, load_settings


def load(folder: Path, text: str, *overrides: str) -> Settings:
    file = folder / "my.toml"
    file.write_text(text)
    return load_settings(file, overrides)


def test_without_a_file_the_defaults_are_the_default_job() -> None:
    settings = load_settings(None)
    assert settings == Settings()
    assert settings.corpus == DocstringCorpus()
    assert settings.examples == DocstringTask()


def test_paths_are_relative_to_the_folder_of_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, "[corpus]\npath = 'texts'\n[examples]\ntrain = 'rows.tsv'\ntest = '/data/test.tsv'")
    assert settings.corpus == TextSource(str(tmp_path / "texts"))
    assert settings.examples == TableSource(str(tmp_path / "rows.tsv"), test="/data/test.tsv")


def test_paths_on_other_file_systems_stay_as_they_are(tmp_path: Path) -> None:
    settings = load(tmp_path, "[corpus]\npath = 'gs://bucket/texts'\n[examples]\ntrain = 'hdfs://rows.tsv'")
    assert settings.corpus == TextSource("gs://bucket/texts")
    assert settings.examples == TableSource("hdfs://rows.tsv")


def test_one_key_of_a_table_leaves_the_others_at_their_defaults(tmp_path: Path) -> None:
    settings = load(tmp_path, "[training]\nlearning_rate = 1\n[distillation.training]\nepochs = 1.5")
    assert settings.training.learning_rate == 1.0
    assert settings.training.steps == Settings().training.steps
    assert settings.distillation.temperature == Settings().distillation.temperature
    assert settings.distillation.training.epochs == 1.5


def test_epochs_of_the_user_are_not_overruled_by_steps_of_the_defaults(tmp_path: Path) -> None:
    assert Settings().training.steps is not None
    assert load(tmp_path, "[training]\nepochs = 2").training.steps is None
    assert load(tmp_path, "[training]\nepochs = 2\nsteps = 7").training.steps == 7


def test_an_override_of_epochs_wins_over_steps_of_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, "[training]\nsteps = 5", "training.epochs=1")
    assert (settings.training.steps, settings.training.epochs) == (None, 1.0)


def test_the_folder_to_push_to_is_relative_to_the_file_too(tmp_path: Path) -> None:
    assert load(tmp_path, "[push]\nfolder = 'models'").push.folder == str(tmp_path / "models")
    assert load(tmp_path, "[push]\nfolder = ''").push.folder == ""


def test_the_first_token_is_pooled_where_pairs_train_the_pooler(tmp_path: Path) -> None:
    text = "pooling = 'cls'\n[pretraining_rows]\nobjective = 'sentence_order'"
    assert load(tmp_path, text).pooling == load(tmp_path, "pooling = 'cls'").pooling == "cls"


def test_overrides_win_over_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, "[training]\nsteps = 5", "training.steps=200", "name=mine", "corpus.path=here")
    assert (settings.training.steps, settings.name) == (200, "mine")
    assert settings.corpus == TextSource("here")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[training]\nstepz = 2", "there is no setting 'training.stepz'; did you mean 'steps'?"),
        ("[trainning]\nsteps = 2", "there is no setting 'trainning'; did you mean 'training'?"),
        (
            "[distillation.training]\nepocs = 1",
            "there is no setting 'distillation.training.epocs'; did you mean 'epochs'?",
        ),
        ("[corpus]\npaht = 'x'", "corpus.path must be set; there is no setting 'corpus.paht'; did you mean 'path'?"),
        ("[examples]\ntext = 'x'", "examples.train must be set"),
        ("[corpus]\nrows_per_label = 9", "corpus.path must be set; there is no setting 'corpus.rows_per_label'"),
        (
            "[corpus]\npath = 'x'\ndocument_end = 'page'",
            "corpus.document_end must be 'blank line' or 'file', got 'page'",
        ),
        (
            "[examples]\ntrain = 'x'\ntask = 'regression'",
            "examples.task must be 'classification': the later steps of the pipeline know no other, got 'regression'",
        ),
        (
            "[examples]\ntrain = 'x'\ntask = 'token_classification'\nprefix = 'en:'",
            "examples.task must be 'classification': the later steps of the pipeline know no other, got 'token_",
        ),
        ("[examples]\ntrain = 'x'\ntask = 'question_answering'", "examples.task must be 'classification': the later"),
        ("[examples]\ntrain = 'x'\ntask = 'tags'", "examples.task must be one of ['classification', 'regression', "),
        ("[examples]\ntrain = 'x'\ntask = 3", "examples.task must be one of "),
        ("name = '../x'", "name must"),
        ("[masking]\nstrategy = 'words'", "masking.strategy must be 'tokens', 'whole_words' or 'spans', got 'words'"),
        (
            "[pretraining_rows]\nobjective = 'order'",
            "pretraining_rows.objective must be 'next_sentence', 'sentence_order' or 'none', got 'order'",
        ),
        (
            "pooling = 'cls'\n[pretraining_rows]\nobjective = 'none'",
            "pretraining_rows.objective must be one of pairs where pooling is 'cls', as these train the ",
        ),
        ("[pretraining_rows]\nshort_length = 4", "pretraining_rows.short_length must be at least 8, got 4"),
        ("[pretraining_rows]\nshort_steps = 1.0", "pretraining_rows.short_steps must be in (0, 1), got 1.0"),
        ("[pretraining_rows]\nheld_out = 0.0", "pretraining_rows.held_out must be in (0, 1), got 0.0"),
        ("[pretraining_rows]\nduplication = 0", "pretraining_rows.duplication must be at least 1, got 0"),
        ("[pretraining_rows]\nshort_share = 1.5", "pretraining_rows.short_share must be between 0 and 1, got 1.5"),
        ("[examples]\ntrain = 'x'\nlable = 'y'", "there is no setting 'examples.lable'; did you mean 'label'?"),
        ("[training]\nsteps = 0", "training.steps must be at least 1, got 0"),
        ("[fine_tuning]\nbatch_size = 0", "fine_tuning.batch_size must be at least 1, got 0"),
        ("[training]\nsteps = 'a'", "training.steps must be a valid integer, got 'a'"),
        ("[training]\nsteps = 2.5", "training.steps must be a valid integer, got 2.5"),
        ("[distillation]\ntemperature = -1", "distillation.temperature must be positive, got -1.0"),
        (
            "[student]\nhidden_size = 100\nnum_heads = 3",
            "student.hidden_size must be a multiple of num_heads=3, got 100",
        ),
        ("max_length = 1000", "max_length must be less than or equal to 512, got 1000"),
        ("training = 5", "training must be an object, got 5"),
        ("corpus = 5", "corpus must be an object, got 5"),
        ("[corpus]\nmegabytes = -1", "corpus.megabytes must be positive and finite, got -1.0"),
        ("[evaluation]\nmin_accuracy = 200", "evaluation.min_accuracy must be between 0 and 100, got 200.0"),
    ],
)
def test_a_refusal_names_key_rule_and_value(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(tmp_path, text)
    assert str(caught.value).startswith(message)


def float_keys(kind: Any, place: str = "") -> Iterator[str]:
    """The keys of all numbers that need not be whole, in tables and tables in them."""
    if dataclasses.is_dataclass(kind):
        for field in dataclasses.fields(kind):
            yield from float_keys(field.type, f"{place}.{field.name}")
    elif kind is float:
        yield place.removeprefix(".")
    elif isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
        for name, field in kind.model_fields.items():
            yield from float_keys(field.annotation, f"{place}.{name}")
    else:
        for inner in get_args(kind):
            yield from float_keys(inner, place)


@pytest.mark.parametrize("value", ["inf", "-inf", "nan"])
def test_every_number_is_finite(tmp_path: Path, value: str) -> None:
    keys = sorted(set(float_keys(Settings)) - {"beam.options"})
    assert {"corpus.megabytes", "distillation.training.clip_norm", "training.epochs", "student.dropout"} <= set(keys)
    for key in keys:
        with pytest.raises(InputError, match=rf"^{key} must be a finite number, got {value}$"):
            load_settings(None, [f"{key}={value}"])
    with pytest.raises(InputError, match=rf"beam.options.x.float must be a finite number, got {value}"):
        load_settings(None, [f"beam.options.x={value}"])


def test_all_that_is_wrong_is_said_at_once(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"vocabulary.size must .*, got 5; masking.rate must .*, got 1.5"):
        load(tmp_path, "[masking]\nrate = 1.5\n[vocabulary]\nsize = 5")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"settings file .*missing.toml does not exist"):
        load_settings(tmp_path / "missing.toml")
    with pytest.raises(InputError, match=r"my.toml cannot be read: Invalid value \(at line 1"):
        load(tmp_path, "a = = 3")
    (tmp_path / "latin.toml").write_bytes("name = 'caf\u00e9'".encode("latin-1"))
    with pytest.raises(InputError, match=r"latin.toml cannot be read"):
        load_settings(tmp_path / "latin.toml")


@pytest.mark.parametrize("override", ["training.steps", "training.stepz=3", "name.x=3"])
def test_overrides_are_as_strict(override: str) -> None:
    with pytest.raises(InputError):
        load_settings(None, ["name=a", override])


def test_the_example_in_the_repository_is_accepted() -> None:
    example = Path(__file__).parents[3] / "example.toml"
    settings = load_settings(example)
    assert settings.name == "reviews"
    assert settings.corpus == TextSource(str(example.parent / "texts"))


def test_cleaning_and_the_engine(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "[cleaning]\nrepetition = 'gopher'\nmin_words = 50\n"
        "[beam]\nrunner = 'FlinkRunner'\n[beam.options]\nflink_master = 'localhost:8081'\nparallelism = 4\n",
    )
    assert settings.cleaning == Cleaning(repetition="gopher", min_words=50)
    assert settings.beam == BeamOptions(
        runner="FlinkRunner", options={"flink_master": "localhost:8081", "parallelism": 4}
    )
    with pytest.raises(InputError, match=r"cleaning.threshold must be in \(0, 1\], got 2.0"):
        load(tmp_path, "[cleaning]\nthreshold = 2.0")
    with pytest.raises(InputError, match=r"beam.workers must be at least 1, got 0"):
        load(tmp_path, "[beam]\nworkers = 0")
