"""`explain` with models that read other words, pairs, cut texts, and options that do not belong together."""

import json
from pathlib import Path

import pytest

from pipeline.views.explanation import explain_text
from pipeline.views.reports import write_json
from tests.keras_bert.explain.family_tasks import family_task
from tests.keras_bert.explain.test_agreement import OTHER_PIECES, other_student, random_task
from tests.keras_bert.interop.checkpoints import GOLDEN, PIECES
from tests.pipeline.command_line import refused, said

pytest.importorskip("tensorflow_text", reason="the tokenizer is TensorFlow's")
from keras_bert.explain import rollout
from keras_bert.tokenizers.tokenizer import Tokenizer

TEXT = "abc d ef g abc"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Models of one task, one that reads less and one with other words, and a model of another task."""
    folder, task = tmp_path_factory.mktemp("models"), family_task("bert", Tokenizer(PIECES, True))
    task.save(folder / "saved")
    other_student(task, max_length=8).save(folder / "short")
    other_student(task, OTHER_PIECES).save(folder / "other")
    random_task("question_answering", 1).save(folder / "answering")
    (folder / "job.toml").write_text("")
    return folder


def table(capfd: pytest.CaptureFixture[str], *arguments: object) -> tuple[list[list[str]], str]:
    """The cells of the table, and everything that was printed."""
    printed = said(capfd, "explain", *arguments)
    lines = [line for line in printed.splitlines() if line.startswith("│")]
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines], printed


@pytest.mark.long
def test_words_of_models_that_read_other_words_stand_at_their_places(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options = "--method", "occlusion", "--beside", folder / "short", "--beside", folder / "other"
    rows, printed = table(capfd, folder / "saved", TEXT, *options)
    assert [row[0] for row in rows[:-1]] == TEXT.split()
    assert all(row[1] for row in rows)
    assert [bool(row[2]) for row in rows[:-1]] == [True, True, True, False, False]
    assert "short reads characters 0 to 8 of 14 of text 1: 4 tokens were cut" in printed
    explanations = explain_text([folder / "saved", folder / "other"], TEXT, method="occlusion")
    for number, explanation in enumerate(explanations):
        shares = explanation.attribution.by_word()
        column = [row[1 if number == 0 else 3] for row in rows[:-1]]
        assert [float(cell) for cell in column] == pytest.approx(shares, abs=1e-3)


def test_the_texts_of_a_pair_are_told_apart(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rows, _ = table(capfd, folder / "saved", "d", "d", "--method", "occlusion")
    assert [row[:2] for row in rows] == [["d", "1"], ["d", "2"], [rows[-1][0], ""]]


def test_numbers_tell_places_cuts_and_rollout(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    printed = said(capfd, "explain", folder / "saved", "a " * 40, "--json", "--method", "input_x_gradient")
    (model,) = json.loads(printed)["models"]
    assert model["dropped"] == [{"text": 0, "start": 0, "end": 47, "characters": 80, "tokens": 16}]
    assert {name: model["words"][1][name] for name in ("word", "text", "start", "end")} == {
        "word": "a",
        "text": 0,
        "start": 2,
        "end": 3,
    }
    (task,) = explain_text([folder / "saved"], "a " * 40, method="input_x_gradient")
    expected = rollout(task.attention.weights)[-1]
    assert model["attention"]["rollout"] == pytest.approx(expected.round(6), abs=1e-6)
    assert (model["gap"], model["absolute_gap"]) == (None, None)
    assert len(printed.splitlines()) < 600, "arrays of numbers stand on one line"


def test_json_is_the_same_for_readers() -> None:
    value = {"a": [], "b": [{"c": [[1, 2.5], [3, 4]], "d": None}, "é"], "e": {}, "f": [True, "x"]}
    assert json.loads(write_json(value)) == value
    assert '"c": [[1,2.5],[3,4]]' in write_json(value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["saved", "a", "--beside", "answering"], "--beside must be for classification, as "),
        (["saved", "a", "--rows", "3"], "--rows must be left out where TEXT is explained, got 3"),
        (["saved", "a", "--set", "seeds=3"], "--set must be left out where TEXT is explained, got seeds=3"),
        (["saved", "a", "--out", "."], "--out must be a file, got the folder"),
        (["saved", "a", "--steps", "10001"], "steps must be a whole number from 1 to 10000, got 10001"),
        (["job.toml", "--target", "a"], "--target must be left out for a job, got a"),
        (["job.toml", "--steps", "64"], "--steps must be left out for a job, got 64"),
        (["job.toml", "--method", "occlusion"], "--method must be left out for a job, got occlusion"),
        (["job.toml", "--beside", "saved"], "--beside must be left out for a job, got"),
        (["job.toml", "--out", "page.html"], "--out must be left out for a job, got"),
        (
            [str(GOLDEN / "hugging_face_masked_lm"), "the cat"],
            "must be fine-tuned to be explained, got a model for pre",
        ),
    ],
)
def test_refused_in_one_line(
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(folder)
    assert message in refused(capfd, "explain", *arguments)


def test_small_shares_have_a_digit() -> None:
    from pipeline.views.explanation import _format_share

    assert [_format_share(share) for share in (0.25, -0.0012, 0.0, 3e-5)] == ["+0.250", "-0.001", "+0.000", "+3e-05"]


def test_answers_beside_one_another_explain_one_word(folder: Path) -> None:
    random_task("question_answering", 2).save(folder / "answering2")
    explanations = explain_text([folder / "answering", folder / "answering2"], "ab", "d abc d d c d")
    assert len({explanation.attribution.target for explanation in explanations}) == 1
    for explanation in explanations:
        assert explanation.attention.tokens == explanation.attribution.tokens
