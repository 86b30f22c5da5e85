"""Pre-training on every kind of rows; what it learns is the business of the end-to-end test."""

import dataclasses
import json
import math

import numpy as np
import pytest

from components.artifacts.standard import Model, PretrainingExamples
from components.dsl.errors import InputError
from components.dsl.step_folders import set_progress_sink
from components.mask_examples import mask_examples
from components.pretrain import VALIDATIONS, pretrain
from components.training.model_folder import read_model
from keras_bert.core.config import EncoderShape
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.models.encoder import config_of
from keras_bert.models.saving import load_model
from keras_bert.options.pretraining import Generator, Masking, PretrainingRows
from keras_bert.options.training import Training
from keras_bert.tasks.classification import Classification
from tests.components.test_mask_examples import inputs
from tests.components.tuning_job import eagerly
from tests.samples import long_but

__all__ = ["inputs"]

SHAPE = EncoderShape(num_layers=1, hidden_size=16, num_heads=2, intermediate_size=32)


def train(inputs, folder, steps=6, short_steps=0.5, xla="off", strategy="tokens", further=None, **rows):
    examples, model = PretrainingExamples(folder / "examples"), Model(folder / "model")
    masking = Masking(strategy=strategy)
    mask_examples.run(**inputs, examples=examples, masking=masking, rows=PretrainingRows(**rows), max_length=32)
    training = Training(steps=steps, batch_size=4, learning_rate=1e-3, xla=xla)
    pretrain.run(
        examples=examples,
        vocabulary=inputs["vocabulary"],
        model=model,
        training=training,
        short_steps=short_steps,
        **{"encoder": SHAPE, **(further or {})},
    )
    history = [json.loads(line) for line in (model.path / "history.jsonl").read_text().splitlines()]
    return model, history


KINDS_OF_ROWS = (
    {"objective": "sentence_order", "short_length": 16, "compression": "gzip"},
    {"objective": "none", "dynamic": True},
    {"objective": "next_sentence", "short_length": 16, "dynamic": True},
)


@pytest.fixture
def no_compilation():
    with eagerly():
        yield


@pytest.mark.parametrize("rows", long_but(KINDS_OF_ROWS[:1], KINDS_OF_ROWS))
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


@pytest.mark.usefixtures("no_compilation")
def test_replaced_tokens(inputs, tmp_path):
    further = {"generator": Generator(size=0.5, sharing="gradient_disentangled")}
    model, history = train(inputs, tmp_path, steps=4, objective="none", dynamic=True, further=further)
    held_out = {name: value for name, value in history[-1].items() if name.startswith("validation_")}
    assert held_out.keys() >= {"validation_masked_accuracy", "validation_replaced_accuracy", "validation_perplexity"}
    assert all(math.isfinite(value) for value in held_out.values())
    task = read_model(model)
    assert (task.name, task.max_length) == ("replaced_tokens", 32)
    # What was shared is the encoder's own now: such weights as it has from nothing, and not near 0.
    assert np.std(task.model.get_layer("token_embedding").embeddings) > 0.01
    # Nothing of the generator is left, and the encoder is fine-tuned as any.
    assert config_of(task.model) == SHAPE.encoder_config(task.tokenizer.vocabulary_size, 32)
    tuned = Classification.build(task.encoder, task.tokenizer, labels=["no", "yes"], max_length=32, pooling="mean")
    assert tuned.predict(["Alpha beta."])[0].label in ("no", "yes")


@pytest.mark.usefixtures("no_compilation")
def test_span_boundaries(inputs, tmp_path):
    further = {"span_boundary": True}
    model, history = train(inputs, tmp_path, steps=2, strategy="spans", objective="none", further=further)
    assert 0 < history[-1]["validation_boundary_loss"] < 10
    task = read_model(model)
    assert (task.name, list(task.model.output)) == ("pretraining", ["masked_tokens"])


@pytest.mark.usefixtures("no_compilation")
def test_a_mask_decoder(inputs, tmp_path):
    shape = dataclasses.replace(SHAPE, num_segments=0, variant=DeBERTa(max_distance=8, position_buckets=0))
    model, history = train(
        inputs, tmp_path, steps=2, objective="none", further={"mask_decoder": True, "encoder": shape}
    )
    assert 0 < history[-1]["validation_masked_loss"] < 10
    assert read_model(model).head() == {"next_sentence": False, "mask_decoder": True}


@pytest.mark.parametrize(
    ("further", "rows", "message"),
    [
        (
            {"generator": Generator()},
            {"objective": "next_sentence"},
            "rows must have objective='none' if there is a generator, which learns nothing from pairs, "
            "got 'next_sentence'",
        ),
        (
            {"generator": Generator(num_layers=2)},
            {"objective": "none"},
            "the encoder cannot have this generator: Generator.num_layers must be at most 1, the discriminator's, "
            "got 2",
        ),
        (
            {"span_boundary": True},
            {"strategy": "whole_words"},
            "rows must be masked with strategy='spans' for span boundaries, got ['whole_words']",
        ),
    ],
)
def test_rows_that_suit_no_objective(inputs, tmp_path, further, rows, message):
    with pytest.raises(InputError) as refused:
        train(inputs, tmp_path, further=further, **rows)
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("further", "rows", "objective"),
    [
        ({"generator": Generator()}, {}, "FusedReplacedTokensObjective"),
        ({"span_boundary": True}, {"strategy": "spans"}, "FusedPretrainingObjective"),
    ],
)
def test_what_is_compiled_in_parts_has_an_objective_for_it(inputs, tmp_path, monkeypatch, further, rows, objective):
    seen = []

    def record(self):
        seen.append(self._step.objective.identity())
        return [{"step": 1}]

    monkeypatch.setattr("keras_bert.training.trainer.Trainer.fit", record)
    train(inputs, tmp_path, xla="parts", further=further, objective="none", **rows)
    assert seen[0]["class"] == objective
    assert seen[0].get("span_boundary", False) == ("span_boundary" in further)


def test_a_discriminator_goes_on(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr("keras_bert.training.trainer.Trainer.fit", lambda _: [{"step": 1}])
    further = {"generator": Generator()}
    first, _ = train(inputs, tmp_path, objective="none", further=further)
    second = Model(tmp_path / "second")
    examples = PretrainingExamples(tmp_path / "examples")
    pretrain.run(examples=examples, vocabulary=inputs["vocabulary"], model=second, start=first, **further)
    for actual, expected in zip(read_model(second).model.weights, read_model(first).model.weights, strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_short_rows_come_first(inputs, tmp_path, monkeypatch):
    seen = []

    def record(self):
        batches = self._batches.after(0).take(self._step.steps)
        seen.extend(int(batch["token_ids"].shape[1]) for batch in batches)
        return [{"step": self._step.steps}]

    monkeypatch.setattr("keras_bert.training.trainer.Trainer.fit", record)
    train(inputs, tmp_path, steps=10, short_steps=0.9, short_length=16)
    assert seen == [16] * 9 + [32]


def test_validations_are_part_of_the_progress(inputs, tmp_path, monkeypatch):
    seen = []

    def jump(self):
        steps = self._step.steps
        self._on_progress(steps // 2, steps, "")
        self._on_progress(steps, steps, "")
        return [{"step": steps}]

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
