"""The steps of a job of several tasks, from rows of each to one pushed folder with its scores."""

import functools
import json
import shutil

import numpy as np
import pytest

import keras_bert
from components.artifacts.evaluation import Blessing, Decision, Evaluation, FurtherModels, Metrics
from components.artifacts.pushed import Pushed
from components.artifacts.standard import EdgeModel, Model, Vocabulary
from components.dsl.errors import InputError, Refusal
from components.dsl.step_folders import StepFolders, set_step_folders
from components.evaluate import evaluate
from components.examples.registry import read_rows
from components.export_model import export_model
from components.quantize import quantize
from components.scoring.blessing import Thresholds
from components.sources.pushed_version import PushedVersion
from components.training.model_folder import read_model
from components.training.tuning import HeadSettings
from keras_bert.clients.self_test import check_file
from keras_bert.compress.quantization_parameters import read_quantization
from keras_bert.options.compression import Student
from keras_bert.options.export import Export
from keras_bert.options.quantization import Quantization
from keras_bert.options.tables import (
    DistillationSettings,
    FineTuningSettings,
    PruningSettings,
    QuantizationSettings,
)
from keras_bert.training.step import TrainingStep
from keras_bert.training.trainer import Trainer
from pipeline.views.description import read_description
from plugins.many_tasks.export_together import export_together
from plugins.many_tasks.keep_seed import keep_seed
from plugins.many_tasks.measure_single import measure_single
from plugins.many_tasks.push import push_together
from plugins.many_tasks.steps import distill_together, fine_tune_together, prune_together, quantize_together
from tests.components.tuning_job import Line, eagerly, ingest, table, write_checkpoint, write_rows
from tests.pipeline.command_line import refused

KINDS = {"kind": "classification", "price": "regression"}
QUICK = {"steps": 3, "batch_size": 8, "learning_rate": 1e-2, "xla": "off"}


class Together:
    """What the steps make of two tasks, one after the other."""

    def __init__(self, folder):
        write_checkpoint(folder, num_layers=2)
        self.folder, self.vocabulary = folder, Vocabulary(folder / "vocabulary")
        self.examples = [ingest(folder, self.vocabulary, write_rows(folder, kind)) for kind in KINDS.values()]
        self.rows = {"examples": self.examples, "names": tuple(KINDS)}
        with eagerly():
            self.teacher = self.make(
                fine_tune_together,
                "model",
                pretrained=Model(folder / "model"),
                heads=dict.fromkeys(KINDS, HeadSettings()),
                shares={"kind": 2.0, "price": 1.0},
                class_weights={"kind": "balanced", "price": "none"},
                fine_tuning=table(FineTuningSettings, FineTuningSettings(), **QUICK),
            )
            self.student = self.make(
                distill_together,
                "student",
                teacher=self.teacher,
                shape=Student(layers=(1,)),
                distillation=DistillationSettings(**QUICK),
            )
            self.pruned = self.make(
                prune_together, "pruned", student=self.student, pruning=PruningSettings(**{**QUICK, "steps": 1})
            )
            self.quantized = self.make(
                quantize_together,
                "quantized",
                student=self.pruned,
                quantization=QuantizationSettings(**{**QUICK, "steps": 1, "calibration_batches": 2}),
            )
        self.edge = EdgeModel(folder / "edge")
        export_together.run(model=self.quantized, edge=self.edge, export=Export(lengths=()), **self.rows)
        self.scores = {name: self.evaluate(name, self.teacher, self.edge, students=[self.student]) for name in KINDS}

    def make(self, step, output, **arguments):
        model = Model(self.folder / f"made-{output}")
        step.run(**{output: model}, **arguments, **self.rows)
        return model

    def evaluate(self, name, teacher, edge, **arguments):
        folder = self.folder / f"scores-{name}-{len([*self.folder.iterdir()])}"
        evaluation, blessing = Evaluation(folder / "evaluation"), Blessing(folder / "blessing")
        evaluate.run(
            examples=self.examples[list(KINDS).index(name)],
            teachers=[teacher],
            edges=[edge],
            evaluation=evaluation,
            blessing=blessing,
            checkpoint=Model(self.folder / "model"),
            thresholds=Thresholds(below_baseline="warn", max_export_loss=100.0),
            part=name,
            **{"students": [], **arguments},
        )
        return evaluation, blessing


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    return Together(tmp_path_factory.mktemp("together"))


def push(job, folder, *, blessed=(True, True), optional=()):
    """Pushes the files of the job, with these decisions."""
    blessings = []
    for name, holds in zip(KINDS, blessed, strict=True):
        blessing = Blessing(folder / f"blessing-{name}")
        blessing.path.mkdir(parents=True)
        blessing.write(Decision(holds, ["yes: it is small" if holds else "NO: it is wrong"]))
        blessing.seal({})
        blessings.append(blessing)
    pushed = Pushed(folder / "pushed-artifact")
    push_together.run(
        edges=[job.edge],
        evaluations=[evaluation for evaluation, _ in job.scores.values()],
        blessings=blessings,
        pushed=pushed,
        folder=str(folder / "versions"),
        name="two",
        optional=optional,
        **job.rows,
    )
    return pushed.location()


def test_one_encoder_learns_and_shrinks_for_all_tasks(job):
    teacher, student = read_model(job.teacher), read_model(job.student)
    assert list(teacher.tasks) == list(KINDS)
    assert {name: task.name for name, task in teacher.tasks.items()} == KINDS
    assert teacher.shares == {"kind": 2.0, "price": 1.0}
    assert student.model.count_params() < teacher.model.count_params()
    assert job.student.manifest()["counts"]["layers_from_teacher"] == 1
    assert job.pruned.manifest()["counts"]["sparsity"] == pytest.approx(PruningSettings().sparsity, abs=0.02)
    assert read_quantization(job.quantized.path).ranges
    # The scale of a regression's numbers is that of its own rows.
    assert 4000 < read_model(job.quantized).part("price").predict(["cow hen owl"])[0] < 6000
    history = [json.loads(line) for line in job.teacher.file("history.jsonl").read_text().splitlines()]
    assert {"loss", "kind_loss", "price_loss"} <= {key for entry in history for key in entry}


def test_files_answer_as_the_scores_say(job):
    for name, rows in zip(KINDS, job.examples, strict=True):
        metrics = job.scores[name][0].read()
        assert metrics.task == KINDS[name]
        assert metrics.shipped == "tflite int8"
        assert {"teacher", "student", "tflite int8", "onnx float32"} <= metrics.models.keys()
        assert any(model.baseline for model in metrics.models.values())
        assert metrics.rows["test"] == len(read_rows(rows, "test"))
    assert "frozen encoder" in job.scores["kind"][0].read().models
    file = keras_bert.load(job.edge.path, task="kind")
    test = read_rows(job.examples[0], "test")
    labels = [answer.label for answer in file.predict([row[0] for row in test])]
    right = np.mean([label == row[1] for label, row in zip(labels, test, strict=True)])
    assert job.scores["kind"][0].read().score.mean == pytest.approx(right)


def test_pushed_folder_answers_each_task_and_all(job, tmp_path, capfd):
    folder = push(job, tmp_path)
    assert folder.name == "1"
    texts = ["cow hen owl fox", "oak fir elm fern"]
    together = keras_bert.load(folder)
    answers = together.predict(texts)
    labels = [answer.label for answer in keras_bert.load(folder, task="kind").predict(texts)]
    assert labels == [answer["kind"].label for answer in answers]
    prices = keras_bert.load(folder, task="price").predict(texts)
    np.testing.assert_allclose(prices, [answer["price"] for answer in answers], rtol=1e-5)
    tables = Metrics.tables(json.loads((folder / "metrics.json").read_text()))
    assert {name: table.task for name, table in tables.items()} == KINDS
    assert set(json.loads((folder / "schema.json").read_text())["tasks"]) == set(KINDS)
    card = (folder / "README.md").read_text()
    for name, metrics in tables.items():
        assert f"\n## {name}\n" in card
        assert f"| tflite int8 | {100 * metrics.score.mean:.2f} |" in card
    described = read_description(folder / "model.tflite")
    assert set(described["metrics"]["tasks"]) == set(KINDS)
    check_file(folder)
    golden = json.loads((folder / "golden.json").read_text())
    assert {row["task"] for row in golden if "calibrated" in row} == {"kind"}
    assert [keras_bert.load(folder, task=name).pairs for name in KINDS] == [False, False]
    line = refused(capfd, "predict", folder, "--task", "kind", "cow hen", "--second", "oak fir")
    assert line == "--second must be left out: the model takes single texts"
    # The same files are no new version.
    shutil.rmtree(tmp_path / "pushed-artifact")
    for name in KINDS:
        shutil.rmtree(tmp_path / f"blessing-{name}")
    assert push(job, tmp_path) == folder


def test_calibration_of_each_task_is_read_from_its_table(job, tmp_path):
    folder = push(job, tmp_path)
    metrics = json.loads((folder / "metrics.json").read_text())
    metrics["tasks"]["kind"]["calibration"] = {"temperature": 4.0, "threshold": 0.9}
    for file in folder.glob("model.*"):
        copied = tmp_path / "exported" / file.name
        copied.parent.mkdir(exist_ok=True)
        shutil.copyfile(job.edge.file(file.name), copied)
    for name in ("task.json", "tokenizer.json", "vocab.txt"):
        shutil.copyfile(folder / name, tmp_path / "exported" / name)
    (tmp_path / "exported" / "metrics.json").write_text(json.dumps(metrics))
    together = keras_bert.load(tmp_path / "exported")
    assert together.part("kind").calibration == (4.0, 0.9)
    assert together.part("price").calibration == (1.0, None)


def test_push_needs_all_tasks_but_optional_ones(job, tmp_path, caplog):
    with pytest.raises(Refusal) as caught:
        push(job, tmp_path / "a", blessed=(False, False), optional=("price",))
    assert str(caught.value) == "not pushed, because not all tasks were blessed: kind: it is wrong"
    assert not (tmp_path / "a" / "versions").exists()
    with caplog.at_level("WARNING"):
        folder = push(job, tmp_path / "b", blessed=(True, False), optional=("price",))
    assert "price, which is not required, misses its limits: it is wrong" in caplog.text
    assert "This task misses its limits, and is not required: it is wrong" in (folder / "README.md").read_text()


def test_version_before_is_compared_task_by_task(job, tmp_path):
    previous = PushedVersion(str(push(job, tmp_path)))
    evaluation, blessing = job.evaluate("kind", job.teacher, job.edge, previous=previous)
    models = evaluation.read().models
    assert models["pushed before"].metrics["accuracy"] == models["tflite int8"].metrics["accuracy"]
    shutil.rmtree(tmp_path / "versions" / "1" / "tokenizers")
    assert not [reason for reason in blessing.read().reasons if reason.startswith("not compared")]


def test_a_model_of_one_task_alone_stands_beside_the_shared_one_and_may_be_its_teacher(job, tmp_path):
    line = Line("classification", job.folder, tmp_path)
    line.examples = job.examples[0]
    with eagerly():
        alone = line.blank
    edge, further, quantized = EdgeModel(tmp_path / "edge"), FurtherModels(tmp_path / "rows"), Model(tmp_path / "int8")
    quantize.run(
        student=alone,
        examples=job.examples[0],
        quantized=quantized,
        quantization=QuantizationSettings(post_training=True, calibration_batches=1),
    )
    export = Export(lengths=(), runtimes=("tflite",))
    export_model.run(model=quantized, examples=job.examples[0], edge=edge, export=export)
    measure_single.run(examples=job.examples[0], edges=[edge], shared=job.edge, part="kind", rows=further)
    evaluation, blessing = job.evaluate("kind", alone, job.edge, further=[further])
    models = evaluation.read().models
    of_first = FurtherModels(tmp_path / "first")
    measure_single.run(examples=job.examples[0], edges=[edge], shared=job.edge, part="kind", rows=of_first, seeds=2)
    ((_, verdict),) = of_first.read().verdicts
    assert [*of_first.read().models] == ["tflite int8, of this task alone, seed 0"]
    assert " of a model of this task alone, both of seed 0: difference " in verdict
    row = models["tflite int8, of this task alone"]
    scores = [100 * model.metrics["accuracy"].mean for model in (models["tflite int8"], row)]
    cost = f"tflite int8 accuracy {scores[0]:.2f} beside {scores[1]:.2f} of a model of this task alone: difference "
    assert any(reason.startswith(f"yes: {cost}{scores[0] - scores[1]:+.2f}") for reason in blessing.read().reasons)
    assert row.megabytes < models["tflite int8"].megabytes, "the shared file has two heads"
    small = Model(tmp_path / "small")
    names = ("kind",)
    with eagerly():
        teacher = Model(tmp_path / "teacher")
        fine_tune_together.run(
            pretrained=Model(job.folder / "model"),
            examples=job.examples[:1],
            names=names,
            model=teacher,
            heads={"kind": HeadSettings()},
            shares={"kind": 1.0},
            class_weights={"kind": "none"},
            fine_tuning=table(FineTuningSettings, FineTuningSettings(), **{**QUICK, "steps": 1}),
        )
        distill_together.run(
            teacher=teacher,
            teachers=[alone],
            examples=job.examples[:1],
            names=names,
            student=small,
            shape=Student(num_layers=1),
            distillation=DistillationSettings(**{**QUICK, "steps": 1}),
        )
    assert list(read_model(small).tasks) == ["kind"]


def test_refuses_tasks_with_one_head(job, tmp_path):
    with pytest.raises(InputError, match="tasks: "), eagerly():
        fine_tune_together.run(
            pretrained=Model(job.folder / "model"),
            examples=job.examples[:1],
            names=("token_embedding",),
            model=Model(tmp_path / "model"),
            heads={"token_embedding": HeadSettings()},
            shares={"token_embedding": 1.0},
            class_weights={"token_embedding": "none"},
        )


@pytest.mark.long
def test_killed_and_started_again_the_bytes_are_the_same(job, tmp_path, monkeypatch):
    def make(folder):
        model = Model(tmp_path / folder)
        fine_tune_together.run(
            pretrained=Model(job.folder / "model"),
            model=model,
            heads=dict.fromkeys(KINDS, HeadSettings()),
            shares=dict.fromkeys(KINDS, 1.0),
            class_weights=dict.fromkeys(KINDS, "none"),
            fine_tuning=table(FineTuningSettings, FineTuningSettings(), **{**QUICK, "steps": 5}),
            temperature=2.0,
            **job.rows,
        )
        return model

    whole = make("whole")
    monkeypatch.setattr(Trainer, "__init__", functools.partialmethod(Trainer.__init__, checkpoint_seconds=0.0))
    fits, steps = [], TrainingStep.step

    def step(self, batches, number):
        fits.append(number)
        if len(fits) == 3:
            raise KeyboardInterrupt
        return steps(self, batches, number)

    monkeypatch.setattr(TrainingStep, "step", step)
    set_step_folders(StepFolders(checkpoints=tmp_path / "checkpoints"))
    try:
        with pytest.raises(KeyboardInterrupt):
            make("killed")
        again = make("again")
    finally:
        set_step_folders(StepFolders())
    assert fits == [1, 2, 3, 3, 4, 5]
    for name in ("model.keras", "history.jsonl"):
        assert again.file(name).read_bytes() == whole.file(name).read_bytes()


def test_a_search_scores_all_tasks_as_the_file_answers(job, tmp_path):
    pytest.importorskip("plugins.search", reason="the step is of another plug-in")
    from plugins.search.artifacts import Validation
    from plugins.search.validate import validate

    validation = Validation(tmp_path)
    validate.run(model=job.quantized, metrics=("accuracy", ""), validation=validation, **job.rows)
    metric, score, rows = validation.read()
    assert metric == "mean of kind accuracy and price spearman"
    scores = [job.scores[name][0].read().validation for name in KINDS]
    assert score == pytest.approx((scores[0]["accuracy"].mean + scores[1]["spearman"].mean) / 2, abs=0.02)
    assert rows == sum(len(read_rows(examples, "validation")) for examples in job.examples)


def test_a_search_measures_the_file_of_all_tasks_and_the_steps_of_each(job, tmp_path, monkeypatch):
    pytest.importorskip("plugins.search", reason="the steps are of another plug-in")
    from components.artifacts.measurements import Latency
    from plugins.search.artifacts import TrainingCost
    from plugins.search.measure_distillation import measure_distillation
    from plugins.search.measure_footprint import measure_footprint

    latency, cost = Latency(tmp_path / "latency"), TrainingCost(tmp_path / "cost")
    shape, length = Student(layers=(1,)), read_model(job.teacher).max_length
    measure_footprint.run(
        teacher=job.teacher,
        examples=job.examples[0],
        latency=latency,
        lengths=(length,),
        timed=(length,),
        shape=shape,
        quantization=Quantization(),
    )
    measured = latency.read()["model.tflite"]
    # Zeros of the pruned model are equal weights, but no smaller ones.
    assert measured.bytes == pytest.approx(job.edge.file("model.tflite").stat().st_size, abs=500)
    assert measured.milliseconds[str(length)] > 0
    seconds = iter([[1.0, 1.0], [3.0, 3.0]])
    monkeypatch.setattr("plugins.search.measure_distillation._times", lambda step, batches: next(seconds))
    settings = DistillationSettings(**QUICK, precision="float32")
    measure_distillation.run(teacher=job.teacher, cost=cost, shape=shape, distillation=settings, **job.rows)
    times = cost.read()
    assert (times.step, times.steps) == (2.0, 4), "two of each task, which have equally many rows"
    assert times.rows["train"] == sum(examples.features()["counts"]["train"] for examples in job.examples)


def test_all_tasks_keep_the_seed_with_the_best_mean(job, tmp_path):
    edges = {}
    for name, model in (("teacher", job.teacher), ("pruned", job.pruned)):
        edges[name] = EdgeModel(tmp_path / name)
        export_together.run(model=model, edge=edges[name], export=Export(lengths=(), runtimes=("onnx",)), **job.rows)
    chosen, means = [], []
    for order in (["teacher", "pruned"], ["pruned", "teacher"]):
        kept = FurtherModels(tmp_path / "-".join(order))
        kept.path.mkdir()
        keep_seed.run(edges=[edges[name] for name in order], metrics=("accuracy", ""), rows=kept, **job.rows)
        chosen.append(order[kept.read().kept])
        means.append(dict(zip(order, kept.counts.values(), strict=True)))
    assert means[0] == pytest.approx(means[1])
    assert chosen == [max(means[0], key=means[0].get)] * 2
