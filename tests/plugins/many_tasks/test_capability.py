"""What `[tasks]` needs of a job: said in one line before anything trains; and the steps that it is wired to."""

import pytest

from components.sources.checkpoint import Checkpoint
from pipeline.job.checks import check_data
from pipeline.orchestrator.graph import sources_of
from tests.pipeline.command_line import refused
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load, refusal, write_checkpoint
from tests.pipeline.test_pipelines import STUDENT, reads, values, wire

MOOD = "[tasks.mood.examples]\ntrain = 'rows.tsv'\n"
NAMES = "[tasks.names.examples]\ntask = 'token_classification'\ntrain = 'names.conll'\n"
JOB = CHECKPOINT + MOOD + NAMES


@pytest.fixture
def folder(tmp_path):
    write_checkpoint(tmp_path)
    (tmp_path / "rows.tsv").write_text("text\tlabel\n" + "".join(f"text {n}\t{'ab'[n % 2]}\n" for n in range(20)))
    (tmp_path / "names.conll").write_text("".join(f"word{n} O\nAda B-name\n\n" for n in range(20)))
    return tmp_path


def test_a_job_of_two_tasks_passes_and_warns_by_task(folder):
    settings = load(folder, JOB)
    assert settings.tasks["names"].examples.train == str(folder / "names.conll")
    warnings = check_data(settings)
    assert any(warning.startswith("task mood: about 2 test rows") for warning in warnings)
    assert all(warning.startswith(("task mood: ", "task names: ")) for warning in warnings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            JOB + EXAMPLES,
            "examples must be left out with [tasks]; set it in the tables of tasks, as tasks.mood.examples",
        ),
        (
            JOB + "[evaluation]\nmin_score = 50\n",
            "evaluation must be left out with [tasks]; set it in the tables of tasks, as tasks.mood.evaluation",
        ),
        (
            JOB + STUDENT + "[distillation]\nteachers = 'seeds'\n",
            "distillation.teachers must be 'own' with [tasks], as each seed has students of its own",
        ),
        (
            JOB + "[adaptation]\nkind = 'lora'\n",
            "adaptation must be left out with [tasks], as it is for jobs of one task",
        ),
        (MOOD, "checkpoint must be set with [tasks]: the encoder that they share"),
        (CHECKPOINT + "[tasks]\n", "tasks must have a table for each task, as [tasks.mood], got none"),
        (
            CHECKPOINT + MOOD.replace("mood", "serve"),
            "the name of [tasks.serve] must be of small letters, digits and underscores, and none of serve, all, "
            "logits, probabilities, start_logits, end_logits, sentence_embedding",
        ),
        (
            JOB + "[fine_tuning]\nclass_weights = 'balanced'\n",
            "fine_tuning.class_weights must be left out with [tasks]; set tasks.mood.class_weights",
        ),
        (
            JOB + "[sharing]\nteachers = 'single'\n",
            "sharing.teachers must be 'joint' without [student], which alone learns from single teachers",
        ),
        (JOB + "[sharing]\ntemperature = 0.5\n", "sharing.temperature must be at least 1, got 0.5"),
        (
            CHECKPOINT + EXAMPLES + "[sharing]\ntemperature = 2.0\n",
            "sharing must be left out without [tasks], as no step would read it",
        ),
        (
            JOB + STUDENT + "[distillation]\nhidden_states = 1.0\n",
            "distillation must have no imitation losses with [tasks]; they are for jobs of one task",
        ),
        (
            JOB + "[export]\nruntimes = ['tflite', 'mediapipe']\n",
            "export.runtimes must be of ['tflite', 'onnx'] with [tasks], got 'mediapipe'",
        ),
        (
            JOB + "[export]\ndimension = 8\n",
            "export.dimension must be left out with [tasks], as it is for files of one task, got 8",
        ),
        ("stride = 4\n" + JOB, "stride must be left out, as no task of [tasks] reads it"),
        (JOB + "[contrast]\nscale = 3.0\n", "contrast must be left out, as no task of [tasks] reads it"),
        (
            JOB + "[contrast]\nacross_micro_batches = true\n",
            "contrast.across_micro_batches must be false with [tasks], whose trainings compare the passages of one "
            "micro-batch; set accumulation to 1, or train the task in a job of its own",
        ),
        (
            CHECKPOINT + MOOD + "probabilities = 'p'\n",
            "tasks.mood.examples must have no answers of a teacher without [student]: only a student whose rows all "
            "have such answers learns from them, got those in column 'p'",
        ),
        (
            CHECKPOINT + MOOD + "probabilities = 'p'\n" + NAMES + STUDENT,
            "tasks.mood.examples must have no answers of a teacher beside [tasks.names], which has none: only a "
            "student whose rows all have such answers learns from them, got those in column 'p'",
        ),
        (
            CHECKPOINT + MOOD + "task = 'regression'\n[quantization]\nrecipe = 'float16'\n",
            "quantization.recipe must hold integers in a file with a regression, whose head stays float32, "
            "got 'float16'",
        ),
        (JOB + "[tasks.mood]\nshare = 0\n", "tasks.mood.share must be positive, got 0"),
        (JOB + "[tasks.mood]\nshares = 1.0\n", "there is no setting 'tasks.mood.shares'; did you mean 'share'?"),
        (CHECKPOINT + "[tasks.mood]\nshare = 2.0\n", "tasks.mood.examples must be set"),
        (
            JOB + "[tasks.mood]\nmax_length = 200\n",
            "task mood: max_length must be at most 128, the checkpoint's positions, got 200",
        ),
        (
            JOB + "[tasks.mood.evaluation]\nmetric = 'f2'\n",
            "task mood: evaluation.metric must be one of ['accuracy', 'macro_f1', 'mcc'] for classification with 2 "
            "labels, got 'f2'",
        ),
        (
            JOB + "[tasks.mood]\nclass_weights = {c = 2.0}\n",
            "task mood: fine_tuning.class_weights has 'c', which is not a label; known: a, b",
        ),
    ],
)
def test_refuses_job(folder, text, message):
    assert refusal(folder, text) == message


def test_refuses_an_unknown_kind_and_the_names_of_one_that_cannot_be_joined(folder):
    line = refusal(folder, CHECKPOINT + MOOD + "task = 'moods'\n")
    assert line.startswith("tasks.mood.examples.task must be one of ['classification', ")
    pytest.importorskip("plugins.sparse")
    line = refusal(folder, CHECKPOINT + MOOD + "[tasks.find.examples]\ntask = 'sparse'\ntrain = 'rows.tsv'\n")
    assert line == (
        "tasks.find.examples.task must not be 'sparse', whose head calls layers of the encoder: other tasks cannot "
        "have theirs beside it; train it in a job of its own"
    )


def test_refuses_a_comparison(folder, capfd):
    pytest.importorskip("plugins.compare", reason="the command is of another plug-in")
    for name in ("a", "b"):
        (folder / f"{name}.toml").write_text(f"name = '{name}'\n{JOB}")
    line = refused(capfd, "compare", folder / "a.toml", folder / "b.toml", "--root", folder / "root")
    assert line == (
        "a.toml: there must be [examples] or a [corpus] to compare, got a job of several tasks; compare each task in a "
        "job of its own"
    )


@pytest.mark.parametrize(
    ("plugin", "arguments", "end"),
    [
        ("compare", ["compare", "--stages"], "compress, got a job of several tasks; give each a job of its own"),
        ("doctor", ["doctor"], "look into, got a job of several tasks; give each a job of its own"),
        (
            "explain",
            ["explain"],
            "explain, got a job of several tasks; give each a job of its own, or explain a text by the pushed folder "
            "and --task",
        ),
    ],
)
def test_commands_for_one_task_name_the_way_out(folder, capfd, monkeypatch, plugin, arguments, end):
    pytest.importorskip(f"plugins.{plugin}", reason="the command is of another plug-in")
    monkeypatch.setattr(Checkpoint, "check_content", lambda checkpoint: None)
    (folder / "a.toml").write_text(f"name = 'a'\n{COMPLETE}")
    line = refused(capfd, *arguments, folder / "a.toml", "--root", folder / "root")
    assert line == f"there must be [examples] to {end}"


def test_a_file_that_extends_a_job_keeps_what_it_does_not_change(folder):
    limits = "[tasks.mood]\nshare = 2.0\n[tasks.mood.evaluation]\nmin_score = 80\n"
    (folder / "base.toml").write_text(JOB + limits)
    (folder / "more.tsv").write_text((folder / "rows.tsv").read_text())
    text = "extends = 'base.toml'\n[tasks.mood.examples]\ntrain = 'more.tsv'\n[tasks.mood.evaluation]\nmetric = 'mcc'\n"
    mood = load(folder, text).tasks["mood"]
    assert (mood.examples.train, mood.share) == (str(folder / "more.tsv"), 2.0)
    assert (mood.evaluation.min_score, mood.evaluation.metric) == (80, "mcc")
    # Keys of rows choose the kind of their task: they are replaced together.
    text = "extends = 'base.toml'\n[tasks.names.examples]\ntrain = 'rows.tsv'\n"
    assert load(folder, text).tasks["names"].examples.task == "classification"


def test_refuses_a_name_twice(folder):
    line = refusal(folder, JOB + MOOD)
    assert line.startswith(f"the settings file {folder / 'my.toml'} cannot be read: Cannot declare ('tasks', 'mood', ")


def test_names_missing_rows_by_task(folder):
    (folder / "names.conll").unlink()
    assert refusal(folder, JOB).startswith("task names: ")


COMPLETE = JOB + STUDENT + "[pruning]\n[quantization]\n"


def test_rows_and_scores_are_of_each_task_and_all_else_is_shared(folder):
    steps = reads(wire(folder, COMPLETE))
    rows = {"ingest_examples-mood", "ingest_examples-names"}
    assert steps == {
        "import_checkpoint": set(),
        **{f"read_examples-{name}": set() for name in ("mood", "names")},
        **{f"ingest_examples-{name}": {"import_checkpoint", f"read_examples-{name}"} for name in ("mood", "names")},
        "fine_tune_together": {"import_checkpoint", *rows},
        "distill_together": {"fine_tune_together", *rows},
        "prune_together": {"distill_together", *rows},
        "quantize_together": {"prune_together", *rows},
        "export_together": {"quantize_together", *rows},
        **{
            f"evaluate-{name}": {
                *("import_checkpoint", f"ingest_examples-{name}"),
                *("fine_tune_together", "distill_together", "export_together"),
            }
            for name in ("mood", "names")
        },
        "push_together": {"export_together", "evaluate-mood", "evaluate-names", *rows},
    }


def test_settings_of_a_task_reach_its_own_steps(folder):
    text = COMPLETE + "[tasks.mood]\nmax_length = 32\nshare = 2.0\nclass_weights = 'balanced'\n"
    text += "[tasks.names.evaluation]\nmin_score = 60\nrequired = false\n[sharing]\ntemperature = 2.0\n"
    given = values(wire(folder, text))
    assert [given[f"ingest_examples-{name}"]["max_length"] for name in ("mood", "names")] == [32, 128]
    assert given["import_checkpoint"]["max_length"] == 128
    tuning = given["fine_tune_together"]
    assert (tuning["shares"], tuning["class_weights"]) == (
        {"mood": 2.0, "names": 1.0},
        {"mood": "balanced", "names": "none"},
    )
    for step in ("fine_tune", "distill", "prune", "quantize"):
        assert given[f"{step}_together"]["temperature"] == 2.0
        assert given[f"{step}_together"]["names"] == ("mood", "names")
    assert [given[f"evaluate-{name}"]["thresholds"].min_score for name in ("mood", "names")] == [0, 60]
    assert [given[f"evaluate-{name}"]["part"] for name in ("mood", "names")] == ["mood", "names"]
    assert given["push_together"]["optional"] == ("names",)


def test_each_task_may_have_a_teacher_and_a_model_of_its_own(folder):
    text = COMPLETE + "[tasks.mood]\ncompare_single = true\n[sharing]\nteachers = 'single'\n"
    pipeline = wire(folder, text)
    steps = reads(pipeline)
    assert steps["distill_together"] == {
        *("fine_tune_together", "fine_tune-mood", "fine_tune-names", "ingest_examples-mood", "ingest_examples-names")
    }
    distilled = next(node for node in pipeline.nodes if node.name == "distill_together")
    assert [handle.node.name for handle in distilled.inputs["teachers"]] == ["fine_tune-mood", "fine_tune-names"]
    assert steps["fine_tune-mood"] == {"import_checkpoint", "ingest_examples-mood"}
    assert steps["measure_single-mood"] == {"export_model-mood", "export_together", "ingest_examples-mood"}
    assert steps["export_model-mood"] == {"quantize-mood", "ingest_examples-mood"}
    assert "fine_tune-names" in steps["evaluate-names"]
    assert "fine_tune_together" not in steps["evaluate-names"]
    assert "measure_single-names" not in steps
    assert sources_of(distilled)


def test_each_seed_has_its_models_and_one_is_kept_for_all_tasks(folder):
    text = "seeds = 2\n" + COMPLETE + "[tasks.mood]\ncompare_single = true\n[sharing]\nteachers = 'single'\n"
    pipeline = wire(folder, text)
    steps, given = reads(pipeline), values(pipeline)
    rows = {"ingest_examples-mood", "ingest_examples-names"}
    assert steps["distill_together-1"] == {"fine_tune_together-1", "fine_tune-mood-1", "fine_tune-names-1", *rows}
    seeds = [given[f"fine_tune_together-{seed}"]["fine_tuning"].seed for seed in range(2)]
    assert seeds == [given["fine_tune-mood-0"]["fine_tuning"].seed, seeds[0] + 1]
    assert steps["keep_seed"] == {"export_together-0", "export_together-1", *rows}
    assert {"keep_seed", "export_together-0", "export_together-1"} <= steps["evaluate-mood"] & steps["evaluate-names"]
    assert steps["measure_single-mood"] == {"export_model-mood-0", "export_together-0", "ingest_examples-mood"}
    assert {"export_together-0", "export_together-1"} < steps["push_together"]
    assert given["measure_single-mood"]["seeds"] == 2
    scorers = [node.component for node in pipeline.nodes if node.name in ("keep_seed", "measure_single-mood")]
    assert all({"scikit-learn", "scipy"} <= {*scorer.libraries} for scorer in scorers), "a score is theirs"


def test_other_rows_of_a_task_repeat_no_rows_of_the_others(folder):
    before = values(wire(folder, COMPLETE))
    (folder / "more.tsv").write_text((folder / "rows.tsv").read_text())
    after = values(wire(folder, COMPLETE, f"tasks.mood.examples.train={folder}/more.tsv"))
    assert {name for name in after if after[name] != before[name]} == {"read_examples-mood"}
