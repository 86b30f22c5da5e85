"""Pre-training on every kind of rows; what it learns is the business of the end-to-end test."""

import json
import math

import pytest

from components.artifacts.model import Model
from components.artifacts.pretraining_examples import PretrainingExamples
from components.dsl.workplace import set_progress_sink
from components.mask_examples import mask_examples
from components.pretrain import VALIDATIONS, pretrain
from keras_bert.config import EncoderShape
from keras_bert.models.saving import load_model
from keras_bert.options.masking import Masking
from keras_bert.options.pretraining_rows import PretrainingRows
from keras_bert.options.training import Training
from tests.components.test_mask_examples import inputs

__all__ = ["inputs"]

SHAPE = EncoderShape(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32)


def train(inputs, folder, steps=6, short_steps=0.5, xla="off", **rows):
    examples, model = PretrainingExamples(folder / "examples"), Model(folder / "model")
    mask_examples(**inputs, examples=examples, masking=Masking(), rows=PretrainingRows(**rows), max_length=32)
    training = Training(steps=steps, batch_size=4, learning_rate=1e-3, xla=xla)
    pretrain(
        examples=examples,
        vocabulary=inputs["vocabulary"],
        model=model,
        encoder=SHAPE,
        training=training,
        short_steps=short_steps,
    )
    history = [json.loads(line) for line in (model.path / "history.jsonl").read_text().splitlines()]
    return model, history


@pytest.mark.parametrize(
    "rows",
    [
        {"objective": "none", "dynamic": True},
        {"objective": "sentence_order", "short_length": 16, "compression": "gzip"},
        {"objective": "next_sentence", "short_length": 16, "dynamic": True},
    ],
)
def test_every_kind_of_rows(inputs, tmp_path, rows):
    # One compiled as by default; it takes its time.
    model, history = train(inputs, tmp_path, xla="parts" if "compression" in rows else "off", **rows)
    last = history[-1]
    assert last["step"] == 6
    assert math.isfinite(last["validation_perplexity"])
    has_pairs = rows["objective"] != "none"
    assert ("validation_next_sentence_loss" in last) == has_pairs
    network = load_model(model.path / "model.keras")
    assert ("next_sentence" in network.output) == has_pairs
    assert json.loads((model.path / "task.json").read_text())["max_length"] == 32


def test_short_rows_come_first(inputs, tmp_path, monkeypatch):
    seen = []

    def record(self, batches, **_):
        seen.extend(int(batch["token_ids"].shape[1]) for batch in batches.after(0).take(self.steps))
        return [{"step": self.steps}]

    monkeypatch.setattr("keras_bert.training.trainer.Trainer.fit", record)
    train(inputs, tmp_path, steps=10, short_steps=0.9, short_length=16)
    assert seen == [16] * 9 + [32]


def test_validations_are_part_of_the_progress(inputs, tmp_path, monkeypatch):
    seen = []

    def jump(self, batches, *, on_progress, validations, **_):
        on_progress(self.steps // 2, self.steps, "")
        on_progress(self.steps, self.steps, "")
        return [{"step": self.steps}]

    monkeypatch.setattr("keras_bert.training.trainer.Trainer.fit", jump)
    set_progress_sink(lambda *report: seen.append(report))
    try:
        train(inputs, tmp_path, steps=40, short_length=16)
    finally:
        set_progress_sink(lambda *_: None)
    (long,) = (
        entry["counts"]["validation"]
        for entry in json.loads((tmp_path / "examples" / "features.json").read_text())["lengths"]
        if entry["max_length"] == 32
    )
    whole = 40 + VALIDATIONS * long / (3 * 4)  # rows in batches of 4, a forward pass a third of a step
    assert long
    assert seen[-2:] == [(pytest.approx(done), pytest.approx(whole), "") for done in (whole / 2, whole)]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_short_steps_out_of_range(inputs, tmp_path, share):
    with pytest.raises(ValueError, match=rf"pretrain.short_steps must be in \(0, 1\), got {share}"):
        train(inputs, tmp_path, short_steps=share)
