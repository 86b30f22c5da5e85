"""Scores of an exported file on engines, which are stand-ins here."""

import json

import pytest

from components.artifacts.evaluation import MeasuredModel, SeedScores
from components.artifacts.standard import EdgeModel
from components.dsl.errors import InputError
from components.scoring.blessing import Thresholds, decide
from components.scoring.candidates import ScoredFile
from components.scoring.engines import score_engines
from components.scoring.scorer import ModelScorer
from components.sources.table import TextRow
from keras_bert.accelerators.base import AcceleratorError, EngineAnswers
from keras_bert.export.bundle import attach_companions, load_exported
from keras_bert.export.runtimes import TFLiteModel
from keras_bert.export.tflite import export_tflite
from keras_bert.tasks.classification import Classification
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.accelerators.stand_in import Engine
from tests.keras_bert.compress import tiny

LABELS = ["no", "yes"]


@pytest.fixture(scope="module")
def edge(tmp_path_factory):
    """A file that was compiled for two accelerators, of which one has an engine."""
    edge = EdgeModel(tmp_path_factory.mktemp("edge"))
    pieces = [*SPECIAL_TOKENS, *(f"piece{number}" for number in range(50 - len(SPECIAL_TOKENS)))]
    task = Classification(tiny.build(), Tokenizer(pieces, lowercase=True), labels=LABELS, max_length=tiny.LENGTH)
    task.save_settings(edge.path)
    export_tflite(task.network(), edge.file("model.tflite"), (8, 16))
    attach_companions(task, edge.file("model.tflite"))
    edge.file("accelerators").mkdir()
    edge.file("accelerators/coverage.json").write_text(json.dumps({"engine": {}, "maker/chip": {}}))
    return edge


@pytest.fixture
def rows(edge):
    """Rows whose labels are the file's own answers, so that it has all right."""
    texts = [f"piece{3 * number % 40} piece{number}" * (1 + number % 5) for number in range(16)]
    answers = load_exported(edge.path, "model.tflite").predict(texts)
    return [TextRow(text, answer.label) for text, answer in zip(texts, answers, strict=True)]


@pytest.fixture
def scorer(stand_in_accelerators):
    return ModelScorer({"task": "classification", "settings": {"labels": LABELS}}, 1000)


def score(scorer, edge, rows):
    file = ScoredFile(lambda: load_exported(edge.path, "model.tflite"), edge.file("model.tflite"))
    return score_engines(scorer, edge, ("tflite int8", file), ("student", file), rows, ["accuracy"])


def answer_with(factor):
    """An engine that answers as the processor, but for a factor."""

    def answer(accelerator, file, rows, folder):
        model = TFLiteModel(file)
        answers = {length: {"logits": factor * model.predict_on_batch(inputs)} for length, inputs in rows.items()}
        return EngineAnswers(answers, "GPU (a stand-in)")

    return answer


@pytest.mark.parametrize(("factor", "accuracy"), [(1.0, 1.0), (-1.0, 0.0)])
def test_the_first_test_rows_are_scored_on_an_engine_beside_the_float_model(
    factor, accuracy, scorer, edge, rows, monkeypatch
):
    monkeypatch.setattr(Engine, "answer", answer_with(factor))
    ((name, engine),) = score(scorer, edge, rows).items()
    assert name == "int8 on GPU (a stand-in), 16 rows"
    assert engine.model.metrics["accuracy"].mean == accuracy
    assert engine.references["student"].metrics["accuracy"].mean == 1.0
    shipped = MeasuredModel(SeedScores.table([{"accuracy": 1.0}]))
    decision = decide(
        {"student": shipped, "tflite int8": shipped}, "accuracy", "tflite int8", Thresholds(), engines={name: engine}
    )
    (verdict,) = (reason for reason in decision.reasons if name in reason)
    assert verdict.startswith("yes: " if accuracy else "NO: ")
    assert "must not be significantly below the student's 100.00 - evaluation.max_export_loss 1.5" in verdict
    assert decision.blessed is bool(accuracy)


def test_numbers_of_another_file_are_named(scorer, edge, rows, monkeypatch):
    monkeypatch.setattr(Engine, "answer", lambda *given: answer_with(1.0)(*given)._replace(numbers="float16"))
    assert list(score(scorer, edge, rows[:4])) == ["float16 on GPU (a stand-in), 4 rows"]


def test_an_engine_that_fails_ends_the_evaluation_with_the_reason(scorer, edge, rows, monkeypatch):
    def fail(*given):
        raise AcceleratorError("engine answers only zeros")

    monkeypatch.setattr(Engine, "answer", fail)
    with pytest.raises(InputError, match=r"^export\.accelerators: engine answers only zeros$"):
        score(scorer, edge, rows[:2])
