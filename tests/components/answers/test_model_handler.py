"""The model handler in a pipeline, with files of every runtime: the answers are those of `predict`."""

import dataclasses
import itertools

import apache_beam as beam
import keras
import numpy as np
import pyarrow.parquet as pq
import pytest
from apache_beam.ml.inference.base import RunInference
from apache_beam.testing.util import assert_that, equal_to

from components.answers.answer_table import answer_table
from components.answers.model_handler import AnsweredBatch, TaskModelHandler, TextBatch
from components.answers.model_inputs import open_task
from components.answers.table_request import TableRequest
from components.beam.engine import BeamOptions
from keras_bert.tasks import embedding
from keras_bert.tasks.registry import TASKS, load
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.tasks.tiny import make_encoder
from tests.model_files import write_file
from tests.samples import long_but

WORDS = ("cow", "hen", "owl", "fox", "oak", "fir", "elm", "fern", "the", "near", "old", "one", "?")
SETTINGS = {
    "classification": {"labels": ["animal", "plant"]},
    "regression": {"mean": 4000.0, "standard_deviation": 100.0},
    "embedding": {},
    "token_classification": {"labels": ["O", "B-animal", "I-animal"]},
    "question_answering": {"stride": 4, "max_query_length": 4, "null_threshold": None},
}


def build(name):
    keras.utils.set_random_seed(1)
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
    sizes = {"hidden_size": 8, "num_layers": 1, "intermediate_size": 8, "max_length": 16, "initializer_range": 0.5}
    encoder = make_encoder(vocabulary_size=tokenizer.vocabulary_size, **sizes)
    return TASKS[name].build(encoder, tokenizer, max_length=16, **SETTINGS[name])


def write(task, folder, kind):
    if kind == "keras":
        task.save(folder / "saved")
        return folder / "saved"
    return write_file(task, folder / f"model.{kind}", [8, 16])


def sample_texts(count, seed):
    chance = np.random.default_rng(seed)
    return [" ".join(chance.choice(WORDS, chance.integers(1, 24))) for _ in range(count)]


def as_plain(answer):
    if dataclasses.is_dataclass(answer):
        return dataclasses.asdict(answer)
    return [as_plain(part) for part in answer] if isinstance(answer, list | np.ndarray) else answer


CASES = list(itertools.product(SETTINGS, ("tflite", "onnx", "keras")))
# Each runtime; tests/components/answers/test_answer_table.py has each task.
FEW = [CASES[0], ("embedding", "onnx"), ("token_classification", "keras"), CASES[-3]]


@pytest.mark.parametrize("case", long_but(FEW, CASES), ids="-".join)
def test_a_table_has_the_answers_of_predict(tmp_path, case):
    name, kind = case
    model = write(build(name), tmp_path, kind)
    task = open_task(model)
    texts, seconds = sample_texts(60, 0), sample_texts(60, 1)
    lines = (f"{text}\t{second}\n" for text, second in zip(texts, seconds, strict=True))
    (tmp_path / "rows.tsv").write_text("question\tcontext\n" + "".join(lines))
    is_pair = task.second_text == "required"
    answer_table(
        TableRequest(
            model=model,
            table=str(tmp_path / "rows.tsv"),
            text="question",
            second="context" if is_pair else None,
            out=tmp_path / "out.parquet",
            beam=BeamOptions(workers=1),
        )
    )
    table = pq.read_table(tmp_path / "out.parquet")
    assert table["question"].to_pylist() == texts
    expected = [as_plain(answer) for answer in (task.predict(texts, seconds) if is_pair else task.predict(texts))]
    for place, row in enumerate(table.drop(["question", "context"]).to_pylist()):
        answer = expected[place]
        if name == "question_answering":
            answer = {"answer": answer.pop("text"), **answer}
            del answer["null_score_difference"]
        elif not isinstance(answer, dict):
            space = {"vector_space": task.space} if name == "embedding" else {}
            answer = {next(iter(row)): answer, **space}
        assert row.keys() == answer.keys()
        for column, value in row.items():
            assert_close(value, answer[column])


def assert_close(value, expected):
    """Equal, but for the rounding of float32: a row beside others, or padded further, sums in another order."""
    if isinstance(value, float):
        assert value == pytest.approx(expected, rel=1e-5, abs=1e-5)
    elif isinstance(value, list):
        assert len(value) == len(expected)
        for parts in zip(value, expected, strict=True):
            assert_close(*parts)
    elif isinstance(value, dict):
        assert value.keys() == expected.keys()
        for key, part in value.items():
            assert_close(part, expected[key])
    else:
        assert value == expected


def test_the_handler_works_in_any_pipeline(tmp_path):
    model = write(build("regression"), tmp_path, "tflite")
    batches = [TextBatch(3, ["the cow", "\u200b"], None), TextBatch(4, ["oak " * 20], None)]
    task = open_task(model)
    expected = [
        AnsweredBatch(3, [(number,) for number in task.predict(batches[0].texts)], empty=1, cut=0),
        AnsweredBatch(4, [(number,) for number in task.predict(batches[1].texts)], empty=0, cut=1),
    ]
    with beam.Pipeline(runner="FnApiRunner") as pipeline:
        answers = pipeline | beam.Create(batches) | RunInference(TaskModelHandler(str(model)))
        assert_that(answers, equal_to(expected))


def test_the_weights_of_a_model_are_read_once_for_all_batches(tmp_path, monkeypatch):
    folder, reads, digest_weights = write(build("embedding"), tmp_path, "keras"), [], embedding.digest_weights
    monkeypatch.setattr(embedding, "digest_weights", lambda model: reads.append(model) or digest_weights(model))
    handler = TaskModelHandler(str(folder))
    model = handler.load_model()
    assert reads == []
    batches = [TextBatch(number, ["the cow"], None) for number in range(3)]
    spaces = {space for answers in handler.run_inference(batches, model) for _, space in answers.values}
    assert len(reads) == 1
    assert spaces == {model.space}
    # A model that may be trained between two calls names the space of each.
    trained = load(folder)
    kernels = trained.network().trainable_weights
    before = next(trained.answer_values(["the cow"]))[1]
    kernels[0].assign(kernels[0] + 1)
    assert [before] == [*spaces] != [next(trained.answer_values(["the cow"]))[1]]
