"""The row of a model of natural language inference in the table of models."""

import json
import re

import numpy as np
import pytest
import scipy.special

from components.artifacts.evaluation import FurtherModels
from components.artifacts.standard import Model
from components.dsl.errors import InputError
from components.examples.registry import read_rows
from keras_bert.tasks.classification import Classification
from keras_bert.tasks.registry import load
from pipeline.job.checks import check_data
from pipeline.job.files import make_settings
from pipeline.pipelines import build_pipeline
from plugins.open_labels.measure_entailment import measure_entailment
from plugins.open_labels.rows import OpenLabelsSource
from plugins.open_labels.scoring import OpenLabelsScoring
from tests.components.tuning_job import ingest, write_rows
from tests.plugins.open_labels.test_job import LABELS, OpenLine
from tests.plugins.open_labels.test_job import write_rows as write_open_rows

NAMES = ("contradiction", "ENTAILMENT", "neutral")


@pytest.fixture(scope="module")
def line(checkpoint, tmp_path_factory):
    return OpenLine("open_labels", checkpoint, tmp_path_factory.mktemp("entailment"))


@pytest.fixture(scope="module")
def inference(line, tmp_path_factory):
    """A classifier of pairs of random weights."""
    model = Model(tmp_path_factory.mktemp("inference") / "model")
    blank = line.load("blank")
    Classification.build(blank.encoder, blank.tokenizer, max_length=16, labels=NAMES).save(model.path)
    model.seal({})
    return model


@pytest.mark.parametrize("rows", [2, 1000])
def test_the_label_that_a_text_entails_most_is_the_answer(line, inference, tmp_path, rows):
    source = OpenLabelsSource(
        write_open_rows(tmp_path), held_out_labels=("elm",), descriptions={"elm": "a tree", "cow": "an animal"}
    )
    examples, further = ingest(tmp_path, line.vocabulary, source), FurtherModels(tmp_path / "further")
    measure_entailment.run(inference=inference, examples=examples, further=further, hypothesis="it is {}", rows=rows)
    ((name, row),) = further.read().models.items()
    tested = read_rows(examples, "test")
    assert name == "natural language inference" + (", 2 rows" if rows == 2 else "")
    assert [*row.metrics] == [*OpenLabelsScoring().metrics(())]
    if rows == 2:
        return
    task = load(inference.path)
    spoken = {"elm": "elm a tree", "cow": "cow an animal"}
    labels = [*sorted(set(LABELS) - {"elm"}), "elm"]
    texts = [row.text for row in tested]
    shares = []
    for label in labels:
        logits = np.stack(list(task.outputs(texts, [f"it is {spoken.get(label, label)}"] * len(texts))))
        shares.append(scipy.special.softmax(logits, axis=1)[:, 1])
    best = [labels[place] for place in np.argmax(shares, axis=0)]
    expected = np.mean([label == row.label for label, row in zip(best, tested, strict=True)])
    assert row.metrics["accuracy"].mean == pytest.approx(expected)
    assert row.metrics["added_1"] == row.metrics["added_by_name"]


def job(checkpoint, folder, path, **fields):
    examples = {"task": "open_labels", "train": write_open_rows(folder)}
    return make_settings(
        {
            "max_length": 16,
            "checkpoint": {"path": str(checkpoint / "model")},
            "examples": examples,
            "entailment": {"path": str(path), **fields},
        }
    )


def test_a_job_takes_the_model(checkpoint, inference, tmp_path):
    check_data(settings := job(checkpoint, tmp_path, inference.path))
    nodes = {node.name: node for node in build_pipeline(settings, tmp_path).nodes}
    measure = nodes["measure_entailment"]
    assert measure.values["hypothesis"] == "This text is about {}."
    assert measure.inputs["inference"].node is nodes["import_checkpoint-entailment"]
    assert [handle.node for handle in nodes["evaluate"].inputs["further"]] == [measure]


def test_refuses_before_any_training(checkpoint, line, inference, tmp_path):
    with pytest.raises(InputError, match=re.escape("entailment must hold config.json or model.keras")):
        check_data(job(checkpoint, tmp_path, tmp_path))
    other = tmp_path / "other"
    line.load("blank").save(other)
    settings = json.loads((other / "task.json").read_text())
    (other / "task.json").write_text(json.dumps({**settings, "labels": ["yes", "no"]}))
    with pytest.raises(
        InputError, match=re.escape("with one label that begins with 'entail', such as one that learnt")
    ):
        check_data(job(checkpoint, tmp_path, other))
    with pytest.raises(InputError, match=re.escape("entailment.hypothesis must hold {} once")):
        job(checkpoint, tmp_path, inference.path, hypothesis="it is")
    source = write_rows(tmp_path, "classification")
    with pytest.raises(InputError, match="entailment must be left out for the task classification"):
        make_settings(
            {
                "max_length": 16,
                "checkpoint": {"path": str(checkpoint / "model")},
                "examples": {"train": source.train},
                "entailment": {"path": str(inference.path)},
            }
        )
