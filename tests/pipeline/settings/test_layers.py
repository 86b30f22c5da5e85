"""Settings over others: files that extend one another, and tasks laid over variants."""

import pytest

from components.dsl.errors import InputError
from components.sources.text import TextSource
from pipeline.job.files import load_settings, merge_tables
from tests.pipeline.settings.texts import CORPUS, EXAMPLES


def write(folder, name, text):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    return folder / name


def test_tables_are_laid_over_key_by_key():
    below = {"name": "a", "encoder": {"num_layers": 2, "dropout": 0.1}, "masking": {"rate": 0.2}}
    above = {"name": "b", "encoder": {"dropout": 0.0}, "cleaning": {"min_words": 3}}
    assert merge_tables(below, above) == {
        "name": "b",
        "encoder": {"num_layers": 2, "dropout": 0.0},
        "masking": {"rate": 0.2},
        "cleaning": {"min_words": 3},
    }
    assert below["encoder"] == {"num_layers": 2, "dropout": 0.1}, "what lies below stays as it is"


def test_tables_of_several_kinds_are_laid_over_as_a_whole():
    below = {"examples": {"rows": 300}, "corpus": {"megabytes": 2.0}, "student": {"layers": [0]}}
    above = {"examples": {"train": "x"}, "corpus": {"path": "y"}, "student": {"num_layers": 1}}
    assert merge_tables(below, above) == above


def test_epochs_above_take_the_place_of_steps_below():
    below = {"pretraining": {"steps": 7, "batch_size": 4}}
    assert merge_tables(below, {"pretraining": {"epochs": 2.0}}) == {"pretraining": {"epochs": 2.0, "batch_size": 4}}
    assert merge_tables(below, {"pretraining": {"learning_rate": 1.0}})["pretraining"]["steps"] == 7


def test_a_file_extends_another_and_each_has_paths_of_its_own(tmp_path):
    write(tmp_path / "bases", "base.toml", CORPUS + "[masking]\nrate = 0.2\n")
    write(tmp_path / "mine", "spans.toml", "extends = '../bases/base.toml'\n[masking]\nstrategy = 'spans'\n" + EXAMPLES)
    last = write(tmp_path / "mine", "last.toml", "extends = 'spans.toml'\nmax_length = 32")
    settings = load_settings(last, ["masking.max_predictions=3"])
    assert settings.corpus == TextSource(str(tmp_path / "mine" / ".." / "bases" / "texts"))
    masking = settings.masking
    assert (masking.rate, masking.strategy, masking.max_predictions, settings.max_length) == (0.2, "spans", 3, 32)
    assert settings.examples.train == str(tmp_path / "mine" / "rows.tsv")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("'gone.toml'", "the settings file {folder}/gone.toml does not exist"),
        ("3", "extends must be the path of a settings file, got 3"),
        ("'my.toml'", "extends must not lead back to the file itself, got my.toml in {folder}/my.toml"),
        ("'other.toml'", "extends must not lead back to the file itself, got my.toml in {folder}/other.toml"),
    ],
)
def test_refuses_extends(tmp_path, value, message):
    write(tmp_path, "other.toml", "extends = 'my.toml'")
    with pytest.raises(InputError) as caught:
        load_settings(write(tmp_path, "my.toml", f"extends = {value}\n" + CORPUS))
    assert str(caught.value) == message.format(folder=tmp_path)
