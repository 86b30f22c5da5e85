"""A task that is registered from outside goes through every step, from its rows to a pushed model."""

import dataclasses
import json
import pickle

import numpy as np
import pytest
from keras import ops

from components.answers.answer_table import answer_table
from components.answers.model_handler import TaskModelHandler, registered_tasks
from components.answers.table_request import TableRequest
from components.artifacts.evaluation import Blessing, Evaluation
from components.artifacts.pushed import Pushed
from components.artifacts.standard import TaskExamples
from components.evaluate import evaluate
from components.examples.registry import TASK_ROWS
from components.examples.texts import TextRows, encode_texts
from components.label_with_teacher import label_with_teacher
from components.push import push
from components.scoring.base import TaskScores, TaskScoring
from components.scoring.mistakes import Mistakes
from components.scoring.registry import TASK_SCORING
from components.sources.table import TextRow
from keras_bert.core.config import EncoderConfig
from keras_bert.data.schemas import SCHEMAS, Feature
from keras_bert.data.task_batches import task_batches
from keras_bert.export.bundle import load_exported
from keras_bert.interop.heads import head_of
from keras_bert.models.encoder import build_encoder
from keras_bert.objectives.base import TaskObjective
from keras_bert.objectives.class_weights import row_weights
from keras_bert.tasks.base import Task
from keras_bert.tasks.classification import build_classifier
from keras_bert.tasks.registry import TASKS, register_task
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from pipeline.views.answers import answer_lines
from tests.components.tuning_job import ANIMALS, PLANTS, Line, ingest, write_rows

NAME = "two_questions"


def cross_entropies(logits, truth):
    """-log of the probability of two independent answers, (rows,)."""
    truth = ops.cast(truth, "float32")
    return ops.mean(ops.softplus(logits) - truth * logits, axis=-1)


@dataclasses.dataclass(frozen=True)
class TwoQuestionsObjective(TaskObjective):
    def loss_weights(self, batch):
        return row_weights(batch["truth"][:, 0])

    def losses(self, outputs, batch):
        return cross_entropies(ops.cast(outputs, "float32"), batch["truth"])

    def distances(self, outputs, target, batch, temperature):
        return cross_entropies(ops.cast(outputs, "float32"), ops.sigmoid(target))

    def labels_from(self, outputs, batch):
        return {"truth": (outputs > 0).astype("int32")}


SCHEMA = {
    **{name: SCHEMAS["classification"][name] for name in ("token_ids", "segment_ids")},
    "truth": Feature("pair", "int64, (2,): 1 for yes"),
}


class TwoQuestions(Task):
    """Whether a text names an animal, and whether it names a plant."""

    name = NAME
    schema = SCHEMA
    needs_pooling = True
    second_text = "unused"

    @classmethod
    def build(cls, encoder, tokenizer, *, max_length=16, pooling="mean"):
        return cls(build_classifier(encoder, 2, pooling=pooling, dropout=0.0), tokenizer, max_length=max_length)

    def head(self):
        return {"pooling": "mean"}

    def loss(self):
        return lambda truth, logits: cross_entropies(logits, truth)

    def objective(self, class_weights=None):
        return TwoQuestionsObjective()

    def agreement(self, reference, candidate, padding_mask):
        return ((reference > 0) == (candidate > 0)).all(axis=1).astype("float64")

    def predict(self, texts, *, batch_size=32):
        return ["".join("ny"[int(logit > 0)] for logit in row) for row in self.outputs(texts, batch_size=batch_size)]

    def answer_columns(self, *, paired=False):
        return {"animal": bool, "plant": bool}

    def answer_values(self, texts, seconds=None):
        for animal, plant in self.predict(texts):
            yield animal == "y", plant == "y"

    def format_answer(self, values, texts):
        return [("".join("ny"[value] for value in values), *texts)]


class TwoQuestionsRows(TextRows):
    name = NAME

    def records(self, rows, encoding):
        from keras_bert.data.records import serialize

        for row, features in encode_texts(rows, encoding):
            yield serialize({**features, "truth": [int(letter == "y") for letter in row.label]})


class TwoQuestionsScoring(TaskScoring[TextRow]):
    name = NAME
    model_kind = "BERT that answers two questions"
    output = "`logits`: float32 (batch, 2)"

    def metrics(self, labels):
        return ("both",)

    def texts(self, rows):
        return [row.text for row in rows], None

    def answer(self, task, rows):
        return list(task.predict([row.text for row in rows]))

    def score(self, rows, answers, labels):
        equal = [row.label == answer for row, answer in zip(rows, answers, strict=True)]
        return TaskScores({"both": float(np.mean(equal))})

    def mistakes(self, rows, answers, confidences):
        return Mistakes("wrong", [], 0, len(rows))

    def trivial(self, train, test):
        return "no to both", ["nn"] * len(test)


class TwoQuestionsSource:
    """The rows of a tiny classification, with both answers instead of a label."""

    task, overlap, near_overlap = NAME, "keep", "keep"

    def __init__(self, table):
        self._table = table

    def splits(self):
        return {split: [self._row(row.text) for row in rows] for split, rows in self._table.splits().items()}

    def fingerprint(self):
        return self._table.fingerprint()

    def digests(self):
        return self._table.digests()

    @staticmethod
    def _row(text):
        words = set(text.split())
        return TextRow(text, "".join("ny"[bool(words & set(names))] for names in (ANIMALS[:1], PLANTS[:1])))


class TwoQuestionsLine(Line):
    @property
    def examples(self):
        if "examples" not in self._loaded:
            source = TwoQuestionsSource(write_rows(self._folder, "classification"))
            self._loaded["examples"] = ingest(self._folder, self.vocabulary, source)
        return self._loaded["examples"]


@pytest.fixture
def registered(monkeypatch):
    """The task is registered, for one test."""
    for table in (TASKS, SCHEMAS, TASK_ROWS, TASK_SCORING):
        monkeypatch.setitem(table, NAME, None)  # so that the entry goes after the test
        table.pop(NAME)
    register_task(TwoQuestions)
    TASK_ROWS[NAME], TASK_SCORING[NAME] = TwoQuestionsRows(), TwoQuestionsScoring()


@pytest.mark.long
@pytest.mark.usefixtures("registered")
def test_a_registered_task_goes_through_every_step(checkpoint, tmp_path):
    line = TwoQuestionsLine(NAME, checkpoint, tmp_path)
    labelled = TaskExamples(tmp_path / "labelled")
    labelled.path.mkdir()
    label_with_teacher.run(
        teachers=[line.teacher], pretrained=line.pretrained, examples=line.examples, labelled=labelled
    )
    batch = next(iter(task_batches(labelled.path, "train", 8).epoch()))
    teacher = line.load("teacher")
    outputs = teacher.objective().run(teacher.network(), batch, training=False)
    np.testing.assert_allclose(batch["teacher_answers"], outputs, atol=1e-4)
    evaluation, blessing = Evaluation(tmp_path / "evaluation"), Blessing(tmp_path / "blessing")
    files = {"teachers": [line.teacher], "students": [line.student], "edges": [line.edge]}
    evaluate.run(examples=line.examples, evaluation=evaluation, blessing=blessing, **files)
    metrics = json.loads(evaluation.file("metrics.json").read_text())
    assert (metrics["task"], metrics["metric"], metrics["shipped"]) == (NAME, "both", "tflite int8")
    scores = {name: row["metrics"]["both"]["mean"] for name, row in metrics["models"].items()}
    assert scores["teacher"] > scores["no to both"]
    # Whether files as small as these are blessed is chance.
    blessing.file("blessing.json").write_text(json.dumps({"blessed": True, "reasons": []}))
    pushed = Pushed(tmp_path / "pushed")
    push.run(
        edges=files["edges"],
        evaluation=evaluation,
        blessing=blessing,
        examples=line.examples,
        pushed=pushed,
        folder=str(tmp_path / "models"),
        name="mine",
    )
    version = tmp_path / "models" / "1"
    card = (version / "README.md").read_text()
    assert "A BERT that answers two questions." in card
    assert f"the page cannot show answers of the task {NAME}" in card
    task = load_exported(version)
    lines = list(answer_lines(task, ["the cow", "old elm"], None))
    assert lines == [f"{task.predict([text])[0]}\t{text}" for text in ("the cow", "old elm")]
    golden = json.loads((version / "golden.json").read_text())
    assert {len(row["answer"]) for row in golden} == {2}
    answers_of_a_table(version, task, tmp_path)


def answers_of_a_table(version, task, folder):
    """The task names the columns; a worker process, where nothing registered it, gets its class."""
    (folder / "rows.csv").write_text("text\nthe cow\nold elm\n")
    request = TableRequest(model=version, table=str(folder / "rows.csv"), text="text", out=folder / "answers.jsonl")
    answer_table(request)
    expected = [
        {"text": text, "animal": answer[0] == "y", "plant": answer[1] == "y"}
        for text, answer in zip(("the cow", "old elm"), task.predict(["the cow", "old elm"]), strict=True)
    ]
    assert [json.loads(line) for line in request.out.read_text().splitlines()] == expected
    assert TwoQuestions in registered_tasks()
    handler = pickle.loads(pickle.dumps(TaskModelHandler(str(version), registered_tasks())))
    del TASKS[NAME]
    assert isinstance(handler.load_model(), TwoQuestions)


@pytest.mark.usefixtures("registered")
def test_a_name_is_registered_once():
    with pytest.raises(ValueError, match=r"^register_task\.task\.name must be none of \["):
        register_task(TwoQuestions)


@pytest.mark.usefixtures("registered")
def test_other_libraries_do_not_have_the_task():
    tokenizer = Tokenizer([*SPECIAL_TOKENS, "cow"], lowercase=True)
    config = EncoderConfig(
        vocabulary_size=6, hidden_size=4, num_layers=1, num_heads=1, intermediate_size=4, max_length=8
    )
    task = TwoQuestions.build(build_encoder(config), tokenizer, max_length=8)
    with pytest.raises(ValueError, match=f"^the task must be one of .*, which other libraries have, got '{NAME}'$"):
        head_of(task)
