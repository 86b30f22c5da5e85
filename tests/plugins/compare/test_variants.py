"""What is compared: tasks over variants, and all that is refused before anything starts."""

from pathlib import Path

import pytest

from components.dsl.errors import InputError
from pipeline.job.files import load_settings
from plugins.compare.budget import Budget
from plugins.compare.variants import _VALIDATIONS, load_variants
from tests.pipeline.command_line import refused
from tests.tiny_job import without, write_job

AFTER = ("examples", "fine_tuning", "student", "distillation", "quantization", "evaluation")
BUDGET = Budget("flops", 1e9)
CHECKPOINT = "[checkpoint]\npath = 'bert'\n"
ROWS = "[examples]\ntrain = 'rows.tsv'\n"
# Variants and tasks that cannot be compared with the others.
UNSUITED = {
    "shapeless": "[corpus]\npath = 'texts'\n",
    "more": "extends = 'base.toml'\n[corpus]\npath = 'more'\n",
    "rows": "extends = 'base.toml'\n" + ROWS,
    "seed": "extends = 'base.toml'\n[fine_tuning]\nseed = 5\n",
    "named": "name = 'x'\n" + ROWS,
    "empty": "[fine_tuning]\n",
    "misspelt": "[examples]\ntrian = 'x'\n",
    "long": "max_length = 32\n" + ROWS,
    "label": ROWS + "label = 'class'\n",
    "metric": ROWS + "[evaluation]\nmetric = 'spearman'\n",
}


@pytest.fixture
def job(tmp_path):
    """Two variants, two tasks, and a checkpoint that is looked at, but not read."""
    write_job(tmp_path)
    (tmp_path / "base.toml").write_text(without(*AFTER))
    (tmp_path / "spans.toml").write_text("extends = 'base.toml'\n[masking]\nstrategy = 'spans'\n")
    (tmp_path / "first.toml").write_text("[examples]\ntrain = 'rows.tsv'\n[fine_tuning]\nepochs = 2.0\n")
    (tmp_path / "second.toml").write_text("max_length = 8\npooling = 'cls'\n[examples]\ntrain = 'rows.tsv'\n")
    (tmp_path / "start.toml").write_text(CHECKPOINT)
    (tmp_path / "bert").mkdir()
    for name in ("config.json", "model.safetensors", "vocab.txt"):
        (tmp_path / "bert" / name).write_text('{"model_type": "bert"}')
    return tmp_path


def load_all(job, files, tasks="", *overrides, budget=BUDGET):
    paths = [[job / f"{name}.toml" for name in names.split()] for names in (files, tasks)]
    return load_variants(paths[0], paths[1], overrides, budget)


def test_tasks_are_laid_over_each_variant(job):
    variants = load_all(job, "base spans", "first second", "fine_tuning.learning_rate=0.5", "seeds=3")
    assert [(variant.name, list(variant.tasks)) for variant in variants] == [
        ("base", ["first", "second"]),
        ("spans", ["first", "second"]),
    ]
    for variant, strategy in zip(variants, ("tokens", "spans"), strict=True):
        first, second = variant.tasks.values()
        assert (variant.start.masking.strategy, variant.start.max_length) == (strategy, 16)
        assert (first.max_length, first.fine_tuning.epochs, first.pooling) == (16, 2.0, None)
        assert (second.max_length, second.fine_tuning.epochs, second.pooling) == (8, 3.0, "cls")
        assert all(task.fine_tuning.learning_rate == 0.5 and task.seeds == 3 for task in (first, second))


def test_a_task_takes_the_place_of_the_variants_own_examples(job):
    (job / "own.toml").write_text("extends = 'base.toml'\n[examples]\nrows = 300\n[evaluation]\nmetric = 'mcc'\n")
    (variant,) = load_all(job, "own", "first")
    assert variant.tasks["first"].examples == load_all(job, "base", "first")[0].tasks["first"].examples
    assert variant.tasks["first"].evaluation.metric == ""


def test_without_tasks_variants_bring_their_examples_or_are_but_pre_trained(job):
    (job / "own.toml").write_text("extends = 'base.toml'\n[examples]\ntrain = 'rows.tsv'\n")
    (job / "other.toml").write_text("extends = 'own.toml'\n[masking]\nrate = 0.3\n")
    assert [list(variant.tasks) for variant in load_all(job, "own other")] == [["classification"]] * 2
    assert [variant.tasks for variant in load_all(job, "base spans")] == [{}, {}]


def test_lines_get_points_where_nobody_says_how_many(job):
    (job / "few.toml").write_text("extends = 'base.toml'\n[pretraining]\nvalidations = 3\n")
    assert [variant.start.pretraining.validations for variant in load_all(job, "base few")] == [_VALIDATIONS, 3]
    assert load_settings(job / "base.toml").pretraining.validations == 2


def test_a_checkpoint_may_be_as_long_as_the_longest_task(job):
    (variant,) = load_all(job, "start", "second first", budget=None)
    assert variant.start.max_length == 128, "that of the task which says nothing of it"
    assert [task.max_length for task in variant.tasks.values()] == [8, 128]


@pytest.mark.parametrize(
    ("files", "tasks", "message"),
    [
        ("base", "", "there must be several settings files to compare, or a --task to try one on, got "),
        ("base spans base", "", "settings files must have different names, got 'base' twice"),
        ("base spans", "first first", "tasks must have different names, got 'first' twice"),
        ("base gone", "", "gone.toml: the settings file {job}/gone.toml does not exist"),
        ("start base", "first", "start.toml: corpus must be set if --flops or --minutes gives a budget"),
        ("base shapeless", "", "shapeless.toml: encoder must be set without [checkpoint]: the shape of the "),
        ("base more", "first", "more.toml: corpus must hold the same text as that of base.toml, got "),
        ("base", "named", "named.toml: name must be left out of a task, which may have examples, fine_tuning, max_le"),
        ("base", "empty", "empty.toml: examples must be set: there is nothing to fine-tune on"),
        (
            *("base", "misspelt"),
            "base.toml: with misspelt.toml merged, examples.train must be set; there is no setting 'examples.trian'",
        ),
        ("base", "second long", "base.toml: max_length must be at least 32, that of a task, got 16"),
        ("base", "label", "base.toml: with label.toml merged, the table {job}/rows.tsv has no column 'class'"),
        ("base", "metric", "base.toml: with metric.toml merged, evaluation.metric must be one of ['accuracy', 'macro_"),
        ("base rows", "", "rows.toml: examples must be those of base.toml if there is no --task"),
        ("base seed", "second", "seed.toml: fine_tuning.seed must be 0 as in base.toml, to pair seeds, got 5"),
    ],
)
def test_refuses_files_that_cannot_be_compared(job, files, tasks, message):
    (job / "more").mkdir()
    (job / "more" / "a.txt").write_text("another text\n\nof two documents")
    for name, text in UNSUITED.items():
        (job / f"{name}.toml").write_text(text)
    with pytest.raises(InputError) as caught:
        load_all(job, files, tasks)
    assert str(caught.value).startswith(message.format(job=job))
    assert "\n" not in str(caught.value)


def test_the_variants_and_tasks_in_the_repository_go_together(monkeypatch):
    monkeypatch.setattr("plugins.compare.variants.check_data", lambda settings: None)
    folder = Path(__file__).parents[3] / "benchmarks" / "compare"
    tasks = [folder / f"{name}.toml" for name in ("sst2", "wnut17")]
    files = sorted(set(folder.glob("*.toml")) - {*tasks, folder / "base.toml"})
    base, *others = load_variants([folder / "base.toml", *files], tasks, [], BUDGET)
    assert len(others) == len(files) >= 5
    for other in others:
        assert other.start != base.start, other.name
        assert list(other.tasks) == ["sst2", "wnut17"]


def test_without_a_budget_a_checkpoint_may_stand_beside_a_corpus(job):
    assert [variant.name for variant in load_all(job, "start base", "second", "max_length=16", budget=None)] == [
        "start",
        "base",
    ]


def test_data_is_looked_at_once(job, monkeypatch):
    seen = []
    monkeypatch.setattr("plugins.compare.variants.check_data", seen.append)
    variants = load_all(job, "base spans start", "second first", "max_length=16", budget=None)
    assert seen == [*variants[0].tasks.values(), variants[2].tasks["second"]]


def test_a_checkpoint_that_is_not_there_shows_before_anything_starts(job):
    (job / "start.toml").write_text("[checkpoint]\npath = 'gone'\n")
    with pytest.raises(InputError) as caught:
        load_all(job, "start", "first", budget=None)
    rule = f"checkpoint must be a folder that exists, got {job}/gone; hf://OWNER/NAME is one on the hub"
    assert str(caught.value).startswith(f"start.toml: with first.toml merged, {rule}")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--flops", "0"], "--flops must be positive and finite, got 0"),
        (["--minutes", "inf"], "--minutes must be positive and finite, got inf"),
        (["--flops", "1e9", "--minutes", "5"], "--minutes must be left out if --flops is given, got 5 and 1e+09"),
        (["--seeds", "2"], "base.toml: seeds must be left out without [examples], as no step would read it"),
        (["--name", "a b"], "base.toml: name must match pattern"),
        (["--task", "{job}/gone.toml"], "gone.toml: the settings file {job}/gone.toml does not exist"),
    ],
)
def test_a_command_that_cannot_start_is_one_line(job, capfd, arguments, message):
    files = [str(job / name) for name in ("base.toml", "spans.toml")]
    root = job / "root"
    given = [argument.format(job=job) for argument in arguments]
    assert refused(capfd, "compare", *files, "--root", root, *given).startswith(message.format(job=job))
    assert not root.exists()
