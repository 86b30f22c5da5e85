"""Histories as lines: whose they are, where they are found, and what is said of them."""

import json

from pipeline.report.record import read_record
from pipeline.report.trainings import Curve, read_trainings
from tests.pipeline.report.made_up import HISTORY, Root, node

MODEL = {"model": "Model"}


def test_a_training_has_a_panel_a_figure_with_its_validations(tmp_path):
    root = Root(tmp_path)
    root.log(root.run(node("fine_tune", makes=MODEL), node("push")), "fine_tune", HISTORY)
    (training,) = read_trainings(read_record(tmp_path))
    assert training.panels == {
        "loss": [Curve("", [(5, 0.9), (10, 0.5)]), Curve("", [(10, 0.6)], is_held_out=True)],
        "learning rate": [Curve("", [(5, 2e-4), (10, 0.0)])],
        "tokens a second": [Curve("", [(5, 800.0)])],
    }
    assert (training.name, training.notes) == ("fine_tune", ["10 steps"])
    assert training.figures == {"loss": [0.6], "accuracy": [0.75]}


def test_seeds_of_a_step_are_one_training_and_a_cached_one_is_found_where_it_ran(tmp_path):
    root = Root(tmp_path)
    root.log(root.run(node("fine_tune", makes=MODEL, key="first")), "fine_tune", HISTORY)
    again = root.run(node("fine_tune-0", state="cached", key="first"), node("fine_tune-1", makes=MODEL))
    root.log(again, "fine_tune-1", [{**HISTORY[0], "loss": 0.8}, {**HISTORY[1], "step": 12}])
    (training,) = read_trainings(read_record(tmp_path))
    assert training.name == "fine_tune"
    assert [(line.name, line.is_held_out) for line in training.panels["loss"]] == [
        ("seed 0", False),
        ("seed 0", True),
        ("seed 1", False),
        ("seed 1", True),
    ]
    assert training.notes == ["10 to 12 steps", "fine_tune-0: cached, trained in run 1"]
    assert training.figures["accuracy"] == [0.75, 0.75]


def test_the_steps_of_a_second_stage_are_counted_on(tmp_path):
    root = Root(tmp_path)
    run = root.run(node("distill", makes={"student": "Model"}))
    root.log(run, "distill", [{"step": 4, "loss": 1.0}], place="seed-0/intermediate")
    (training,) = read_trainings(read_record(tmp_path))
    assert training.panels == {"loss": [Curve("", [(4, 1.0)])]}, "killed in the first"
    root.log(run, "distill", [{"step": 3, "loss": 0.5}])
    (training,) = read_trainings(read_record(tmp_path))
    assert training.panels == {"loss": [Curve("", [(4, 1.0), (7, 0.5)])]}


def test_a_step_that_was_killed_is_shown_up_to_there(tmp_path):
    root = Root(tmp_path)
    run = root.run(node("pretrain", state="failed", message="was killed by SIGKILL"), state="failed")
    root.log(run, "pretrain", [{"step": 5, "masked_loss": 4.0, "next_sentence_loss": 0.7}])
    file = tmp_path / "logs" / str(run) / "pretrain" / "seed-0" / "history.jsonl"
    file.write_text(file.read_text() + '{"step": 10, "maske')
    (training,) = read_trainings(read_record(tmp_path))
    assert training.panels["loss"] == [Curve("masked loss", [(5, 4.0)]), Curve("next sentence loss", [(5, 0.7)])]
    assert training.notes == ["5 steps", "pretrain failed after these steps"]
    assert training.figures == {}


def test_without_a_log_the_history_of_the_model_tells_the_rest(tmp_path):
    root = Root(tmp_path)
    root.run(node("fine_tune", makes=MODEL), node("quantize", makes={"quantized": "Model"}), node("push", makes=MODEL))
    entry = {"step": 5, "loss": 0.9, "learning_rate": 1e-4, "precision": "float32"}
    (root.folder("fine_tune", "model") / "history.jsonl").write_text(f"{json.dumps(entry)}\n")
    # Nothing was trained here.
    (root.folder("quantize", "quantized") / "history.jsonl").write_text('{"step": 0}\n')
    (training,) = read_trainings(read_record(tmp_path))
    assert list(training.panels) == ["loss", "learning rate"]
    assert training.notes[1] == "fine_tune: its log was deleted, so its speed is unknown"
