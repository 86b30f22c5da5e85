"""Settings of fine-tuning: each task's, and that every refusal names key, rule, value and the nearest known key."""

from pathlib import Path

import pytest

from components.dsl.errors import InputError
from components.sources.questions import QuestionSource
from components.sources.table import TableSource
from components.sources.tagged_words import SentenceSource
from keras_bert.options.selection import Selection
from keras_bert.options.training import Training
from pipeline.orchestrator.graph import sources_of
from pipeline.pipelines import fine_tuning
from pipeline.settings.schema.fine_tuning import FineTuningSettings, load_fine_tuning

LEAST = "checkpoint = 'bert'\n[examples]\ntrain = 'rows.tsv'\n"


def load(folder: Path, text: str, *overrides: str) -> FineTuningSettings:
    file = folder / "my.toml"
    file.write_text(text)
    return load_fine_tuning(file, overrides)


def test_a_checkpoint_and_rows_are_enough_and_paths_are_relative_to_the_file(tmp_path: Path) -> None:
    settings = load(tmp_path, LEAST)
    assert settings.checkpoint == str(tmp_path / "bert")
    assert settings.examples == TableSource(str(tmp_path / "rows.tsv"))
    assert (settings.seeds, settings.class_weights, settings.metric) == (3, "none", "")
    assert (settings.training, settings.selection) == (Training(), Selection())


@pytest.mark.parametrize(
    ("task", "kind"),
    [
        ("classification", TableSource),
        ("regression", TableSource),
        ("token_classification", SentenceSource),
        ("question_answering", QuestionSource),
    ],
)
def test_every_task_has_its_source(tmp_path: Path, task: str, kind: type) -> None:
    settings = load(tmp_path, LEAST + f"task = '{task}'")
    assert isinstance(settings.examples, kind)
    assert settings.examples.task == task


def test_one_key_of_a_table_leaves_the_others_at_their_defaults(tmp_path: Path) -> None:
    settings = load(tmp_path, LEAST + "[training]\nlearning_rate = 1e-4\n[selection]\npatience = 2")
    assert settings.training == Training(learning_rate=1e-4)
    assert settings.selection == Selection(patience=2)


def test_class_weights_are_a_word_or_a_table(tmp_path: Path) -> None:
    assert load(tmp_path, LEAST, "class_weights=balanced").class_weights == "balanced"
    settings = load(tmp_path, LEAST + "[class_weights]\nyes = 2\nno = 0.5")
    assert settings.class_weights == {"yes": 2.0, "no": 0.5}


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("[examples]\ntrain = 'a.tsv'", (), "checkpoint must be set"),
        ("checkpoint = 'bert'", (), "examples must be set"),
        ("checkpoint = 'bert'\n[examples]\ntext = 'a'", (), "examples.train must be set"),
        (LEAST, ("seeds=0",), "seeds must be greater than or equal to 1, got 0"),
        (LEAST, ("seeds=two",), "seeds must be a valid integer, got 'two'"),
        (LEAST, ("seed=1",), "there is no setting 'seed'; did you mean 'seeds'?"),
        (LEAST, ("selection.patient=1",), "there is no setting 'selection.patient'; did you mean 'patience'?"),
        (LEAST, ("selection.patience=0",), "selection.patience must be at least 1, got 0"),
        (LEAST, ("selection.keep=first",), "selection.keep must be 'best' or 'last', got 'first'"),
        (
            LEAST,
            ("selection.keep=last", "selection.patience=1"),
            "selection.patience must be left out where keep is 'last', got 1",
        ),
        (LEAST, ("class_weights=balance",), "class_weights must be 'none' or 'balanced', got 'balance'"),
        (LEAST, ("class_weights.yes=much",), "class_weights.yes must be a valid number, got 'much'"),
        (LEAST, ("class_weights.yes=inf",), "class_weights.yes must be a finite number, got inf"),
        (LEAST, ("training.clip_norm=inf",), "training.clip_norm must be a finite number, got inf"),
        (LEAST, ("examples.task=tagging",), "examples.task must be one of ['classification', 'regression', "),
        (LEAST, ("examples.labels=a",), "there is no setting 'examples.labels'; did you mean 'label'?"),
        (LEAST, ("corpus.path=a",), "there is no setting 'corpus'; known: checkpoint, class_weights, "),
        (LEAST, ("checkpoint=",), "checkpoint must have at least 1 character"),
        (LEAST, ("pooling=max",), "pooling must be 'cls' or 'mean', got 'max'"),
        (LEAST, ("training.warmup=2",), "training.warmup must be between 0 and 1, got 2.0"),
    ],
)
def test_refusals(tmp_path: Path, text: str, overrides: tuple[str, ...], message: str) -> None:
    with pytest.raises(InputError) as error:
        load(tmp_path, text, *overrides)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


def test_the_wiring_and_that_settings_reach_the_steps(tmp_path: Path) -> None:
    overrides = ["name=mine", "seeds=5", "max_length=64", "metric=mcc", "pooling=cls", "class_weights=balanced"]
    overrides += ["training.epochs=2", "selection.validations=9", "stride=16", "max_query_length=8"]
    pipeline = fine_tuning(load(tmp_path, LEAST, *overrides))
    assert pipeline.name == "mine"
    assert {node.name: {handle.node.name for handle in sources_of(node)} for node in pipeline.nodes} == {
        "import_checkpoint": set(),
        "ingest_examples": {"import_checkpoint"},
        "fine_tune_seeds": {"import_checkpoint", "ingest_examples"},
    }
    values = {node.name: node.values for node in pipeline.nodes}
    assert values["import_checkpoint"]["source"].path == str(tmp_path / "bert")
    assert {name: values["ingest_examples"][name] for name in ("max_length", "stride", "max_query_length")} == {
        "max_length": 64,
        "stride": 16,
        "max_query_length": 8,
    }
    assert values["fine_tune_seeds"] == {
        "pooling": "cls",
        "class_weights": "balanced",
        "training": Training(epochs=2.0),
        "selection": Selection(validations=9),
        "seeds": 5,
        "metric": "mcc",
    }


def test_the_example_in_the_repository_is_accepted() -> None:
    settings = load_fine_tuning(Path(__file__).parents[3] / "example_fine_tuning.toml")
    assert settings == FineTuningSettings(
        name="sentiment", checkpoint=settings.checkpoint, examples=settings.examples, training=Training(epochs=3.0)
    )
    assert settings.checkpoint.endswith("all-MiniLM-L6-v2")
