"""Students that learn a teacher's vectors of texts in a job: the texts, the vectors, and the steps."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keras_bert
from components.artifacts.standard import Model, TaskExamples, Vocabulary
from components.distill import distill
from components.dsl.errors import InputError
from components.examples.registry import read_rows
from components.export_model import _truncate
from components.prune import prune
from components.quantize import quantize
from components.sources.retrieval import QueryRow
from components.training.model_folder import read_model
from components.training.tuning import HeadSettings
from keras_bert.compress.quantization_parameters import read_quantization
from keras_bert.core.validation import read_json
from keras_bert.core.vector_codes import encode_vectors, int8_codes
from keras_bert.data.task_batches import task_batches
from keras_bert.options.compression import Student
from keras_bert.options.tables import DistillationSettings, PruningSettings, QuantizationSettings
from keras_bert.options.training import Training
from keras_bert.tasks.embedding import Embedding
from keras_bert.tasks.registry import TASKS
from pipeline.chains import Chain
from pipeline.job.examples import check_examples
from pipeline.job.files import make_settings
from pipeline.pipelines import build_pipeline, wire_start
from plugins.search.student_steps import wire_students
from plugins.vectors import steps
from plugins.vectors.capability import TeacherCapability
from plugins.vectors.settings import VectorTeacher
from plugins.vectors.source import Release, TeacherCheckpoint
from plugins.vectors.steps import TaughtVectors, adopt_model, embed_texts, spread_sentences
from tests.components import tuning_job
from tests.components.tuning_job import QUANTIZATION, WORDS, table
from tests.pipeline.settings.texts import write_checkpoint

# The last batch of an epoch is not full.
TRAINING = Training(epochs=1.5, batch_size=16, learning_rate=1e-3, seed=5, xla="off")
NOTEBOOK = {**vars(TRAINING), "verbose": 0}
LINES = [f"{first} {second}" for first in WORDS[:8] for second in WORDS[4:8]]


@pytest.fixture(scope="module")
def start(tmp_path_factory):
    """A checkpoint, its vocabulary and rows of an embedding."""
    folder = tmp_path_factory.mktemp("start")
    tuning_job.write_checkpoint(folder, num_layers=2)
    vocabulary = Vocabulary(folder / "vocabulary")
    examples = tuning_job.ingest(folder, vocabulary, tuning_job.write_rows(folder, "embedding"))
    with tuning_job.eagerly():
        adopt_model.run(pretrained=Model(folder / "model"), examples=examples, model=Model(folder / "adopted"))
    return {"vocabulary": vocabulary, "examples": examples, "teacher": Model(folder / "adopted")}


def read_batches(taught, split="train"):
    return list(task_batches(taught.path, split, 4).epoch().as_numpy_iterator())


def assert_equal(made, artifact):
    for ours, theirs in zip(made.model.weights, read_model(artifact).model.weights, strict=True):
        np.testing.assert_array_equal(ours, theirs, err_msg=ours.path)
    assert made.quantization == read_quantization(artifact.path)


def test_a_notebooks_student_and_a_jobs_student_are_equal_bit_for_bit(start, tmp_path):
    (tmp_path / "texts.txt").write_text("\n".join(LINES))
    source = VectorTeacher(texts=str(tmp_path / "texts.txt")).source()
    taught = TaughtVectors(tmp_path / "taught")
    student, pruned, quantized = (Model(tmp_path / name) for name in ("student", "pruned", "quantized"))
    with tuning_job.eagerly():
        embed_texts.run(**start, taught=taught, source=source)
        counts = taught.features()["counts"]
        assert counts == {"train": len(LINES) - 1, "validation": 1}
        distillation = table(DistillationSettings, TRAINING)
        given = {"examples": taught, "shape": Student(layers=(1,)), "distillation": distillation}
        distill.run(**given, teacher=start["teacher"], student=student)
        teacher = read_model(start["teacher"])
        row = read_batches(taught, "validation")[0]
        held_out = row["token_ids"][0][row["padding_mask"][0] == 1]
        texts = [text for text in LINES if teacher.encode([text])["token_ids"][0].tolist() != held_out.tolist()]
        assert len(texts) == counts["train"]
        made = keras_bert.distill(teacher, texts, layers=[1], **NOTEBOOK)
        assert_equal(made, student)
        assert made.space == read_model(student).space == teacher.space != ""

        prune.run(student=student, examples=taught, pruned=pruned, pruning=table(PruningSettings, TRAINING))
        keras_bert.prune(made, texts, **NOTEBOOK)
        assert_equal(made, pruned)

        rounding = table(QuantizationSettings, TRAINING, QUANTIZATION)
        quantize.run(student=pruned, examples=taught, quantized=quantized, quantization=rounding)
        keras_bert.quantize(made, texts, quantization=QUANTIZATION, **NOTEBOOK)
        assert_equal(made, quantized)
        assert made.space == read_model(quantized).space == teacher.space


def test_texts_of_rows_keep_their_split_and_get_the_vectors_of_the_teacher(start, tmp_path):
    taught = TaughtVectors(tmp_path / "taught")
    with tuning_job.eagerly():
        embed_texts.run(**start, taught=taught)
        teacher = read_model(start["teacher"])
        for split in ("train", "validation"):
            batches = read_batches(taught, split)
            assert sum(len(batch["token_ids"]) for batch in batches) == taught.features()["counts"][split]
            for batch in batches:
                expected = teacher.network()({spec.name: batch[spec.name] for spec in teacher.network().inputs})
                np.testing.assert_allclose(batch["teacher_answers"], expected, atol=1e-5)


def test_no_text_of_rows_is_in_both_splits(start, tmp_path, monkeypatch):
    shared = [QueryRow("one query", ("the same passage",)), QueryRow("another query", ("the same passage",))]
    rows = {"train": shared[:1], "validation": shared[1:]}
    monkeypatch.setattr(steps, "read_rows", lambda examples, split: rows[split])
    taught = TaughtVectors(tmp_path / "taught")
    with tuning_job.eagerly():
        embed_texts.run(**start, taught=taught)
    assert taught.features()["counts"] == {"train": 2, "validation": 1}
    rows["validation"] = rows["train"]
    reason = r"^validation rows must have a text that no training row has where .*, got none; give teacher\.texts$"
    with pytest.raises(InputError, match=reason):
        embed_texts.run(**start, taught=TaughtVectors(tmp_path / "none"))


def test_sentences_are_further_texts_of_the_split_of_their_text(start, tmp_path):
    texts = [f"{line}. {' '.join(WORDS[:3])}. {line} {line}." for line in LINES]
    (tmp_path / "texts.txt").write_text("\n".join([*texts, WORDS[0]]))
    source = VectorTeacher(texts=str(tmp_path / "texts.txt")).source()
    taught = TaughtVectors(tmp_path / "taught")
    with tuning_job.eagerly():
        embed_texts.run(**start, taught=taught, source=source, sentences=3)
    # The second sentence of all texts is the same one, which training has; the last text has one sentence.
    held_out = taught.features()["counts"]["validation"]
    assert held_out == 3, "a text and two of its three sentences"
    assert taught.features()["counts"]["train"] == len(LINES) + 1 - 1 + 2 * (len(LINES) - 1) + 1


def test_texts_of_rows_are_learnt_beside_others(start, tmp_path):
    alone, both = TaughtVectors(tmp_path / "alone"), TaughtVectors(tmp_path / "both")
    rows = read_rows(start["examples"], "train")
    (tmp_path / "texts.txt").write_text("\n".join([*LINES, rows[0].text]))
    source = VectorTeacher(texts=str(tmp_path / "texts.txt")).source()
    with tuning_job.eagerly():
        embed_texts.run(**start, taught=alone, source=source)
        embed_texts.run(**start, taught=both, source=source, with_rows=True)
    of_rows = {text for row in rows for text in (row.text, row.second_text)}
    counts = [taught.features()["counts"]["train"] for taught in (alone, both)]
    assert counts[1] - counts[0] == len(of_rows - {*LINES, rows[0].text}), "held-out texts stay held out"


@pytest.mark.parametrize("treatment", ["keep", "drop"])
def test_texts_of_test_rows_are_counted_or_dropped(start, tmp_path, treatment):
    """They were learnt without a word, though examples.overlap forbids them."""
    row = read_rows(start["examples"], "test")[0]
    (tmp_path / "texts.txt").write_text("\n".join([*LINES, row.text]))
    source = VectorTeacher(texts=str(tmp_path / "texts.txt")).source()
    taught = TaughtVectors(tmp_path / "taught")
    with tuning_job.eagerly():
        embed_texts.run(**start, taught=taught, source=source, overlap=treatment, near_overlap="off")
    assert sum(taught.features()["counts"].values()) == len(LINES) + (treatment == "keep")
    assert taught.counts["unlabelled_in_test"] == 1


def test_texts_of_test_rows_are_refused_before_any_step(job, tmp_path):
    query = json.loads((tmp_path / "queries.jsonl").read_text().splitlines()[-1])
    (tmp_path / "test.jsonl").write_text(json.dumps(query))
    (tmp_path / "texts.txt").write_text("\n".join([*LINES, query["query"]]))
    settings = make_settings(
        {**job, "examples": {**job["examples"], "test": str(tmp_path / "test.jsonl"), "overlap": "error"}}
    )
    source = settings.examples
    with pytest.raises(InputError, match=r"1 of 33 unlabelled texts are those of test rows"):
        TeacherCapability().check_rows(settings.teacher, settings, source.splits())


def test_sentences_are_spread_over_a_passage():
    passage = "One is here. Two is here. Three is here. Four is here. Five is here."
    taught = [(0, passage, "passage"), (1, "Five is here.", "passage"), (2, "Is it? It is.", "query")]
    assert spread_sentences(taught, 0) == []
    assert [text for _, text, _ in spread_sentences(taught, 3)] == ["One is here.", "Three is here.", "Five is here."]
    assert [text for _, text, _ in spread_sentences(taught, 9)] == passage.replace(". ", ".|").split("|")


def write_tables(folder, vectors):
    """The same texts and vectors as four kinds of files."""
    rows = [{"text": text, "v": vector} for text, vector in zip(LINES, vectors, strict=True)]
    kept = [row if row["v"] is not None else {"text": row["text"]} for row in rows]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, kept)))
    cells = [f"{row['text']}\t{'' if row['v'] is None else json.dumps(row['v'])}" for row in rows]
    (folder / "rows.tsv").write_text("text\tv\n" + "\n".join(cells) + "\n")
    columns = {"text": LINES, "v": pa.array(vectors, pa.list_(pa.float32()))}
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    width = len(next(vector for vector in vectors if vector is not None))
    np.save(folder / "rows.npy", np.array([[np.nan] * width if row["v"] is None else row["v"] for row in rows]))
    names = ("rows.jsonl", "rows.tsv", "rows.parquet")
    tables = [VectorTeacher(texts=str(folder / name), vectors="v") for name in names]
    return [*tables, VectorTeacher(texts=str(folder / "rows.tsv"), vector_file=str(folder / "rows.npy"))]


def test_columns_and_array_files_of_vectors_give_the_same_rows(start, tmp_path):
    vectors = np.random.default_rng(0).normal(size=(len(LINES), 5)).astype("float32").tolist()
    vectors[3] = vectors[7] = None
    sources = [settings.source() for settings in write_tables(tmp_path, vectors)]
    given = [vector for vector in vectors if vector is not None]
    for source in sources:
        texts, read, _ = source.read()
        assert texts == [text for text, vector in zip(LINES, vectors, strict=True) if vector is not None]
        np.testing.assert_allclose(read, given, rtol=1e-6)
    assert len({source.fingerprint() for source in sources}) == len(sources)
    taught, student = TaughtVectors(tmp_path / "taught"), Model(tmp_path / "student")
    with tuning_job.eagerly():
        embed_texts.run(**{**start, "teacher": None}, taught=taught, source=sources[0])
        assert sum(taught.features()["counts"].values()) == len(given)
        settings = table(DistillationSettings, TRAINING)
        distill.run(
            teacher=start["teacher"],
            examples=taught,
            student=student,
            shape=Student(layers=(0,)),
            distillation=settings,
        )
        assert read_model(student).predict(LINES[:2]).shape == (2, 5)
        assert read_model(student).space == taught.features()["space"]
    assert len({source.read().space for source in sources}) == 1


def test_a_column_of_vectors_may_name_its_space_and_only_one(tmp_path):
    rows = [{"text": text, "v": [1.0, 2.0], "v_space": "0123456789abcdef"} for text in LINES]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    source = VectorTeacher(texts=str(tmp_path / "rows.jsonl"), vectors="v").source()
    assert source.read().space == "0123456789abcdef"
    rows[0] |= {"v_space": "fedcba9876543210"}
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=r"be the vectors of one space, .*, got '0123456789abcdef' and 'fedcba98"):
        source.read()


def test_the_space_of_a_column_is_that_of_its_vectors_in_every_kind_of_file(tmp_path):
    """Of Parquet it was the text of bytes, and a row without a vector had another space, the empty one."""
    space, vectors = "0123456789abcdef", [[1.0, 2.0]] * (len(LINES) - 1) + [None]
    for settings in write_tables(tmp_path, vectors)[:3]:
        file = Path(settings.texts)
        if file.suffix == ".jsonl":
            rows = [json.loads(line) for line in file.read_text().splitlines()]
            file.write_text("\n".join(json.dumps({**row, "v_space": space} if "v" in row else row) for row in rows))
        elif file.suffix == ".tsv":
            head, *cells, last = file.read_text().splitlines()
            file.write_text("\n".join([f"{head}\tv_space", *(f"{cell}\t{space}" for cell in cells), f"{last}\t", ""]))
        else:
            spaces = pa.array([space] * (len(LINES) - 1) + [None])
            pq.write_table(pq.read_table(file).append_column("v_space", spaces), file)
        texts, read, read_space = settings.source().read()
        assert (texts, len(read), read_space) == (LINES[:-1], len(LINES) - 1, space), file.name


def test_packed_bits_are_no_vectors(tmp_path):
    """They were learnt as numbers from 0 to 255, in the space that stands beside them."""
    vectors = np.random.default_rng(0).normal(size=(len(LINES), 16)).astype("float32")
    for code, expected in (("binary", None), ("int8", int8_codes(vectors)), ("float32", vectors)):
        rows = zip(LINES, encode_vectors(vectors, code).tolist(), strict=True)
        lines = [json.dumps({"text": text, "v": vector, "v_space": "0123456789abcdef"}) for text, vector in rows]
        (tmp_path / "rows.jsonl").write_text("\n".join(lines))
        source = VectorTeacher(texts=str(tmp_path / "rows.jsonl"), vectors="v").source()
        if expected is not None:
            np.testing.assert_allclose(source.read().vectors, expected)
            continue
        with pytest.raises(InputError, match=r"^teacher\.vectors must be float32 or int8, .*, got packed bits$"):
            source.read()


def test_the_same_bytes_under_the_name_of_another_kind_are_other_texts(tmp_path):
    """The fingerprint had no names, so that a step would have read the texts of the other file."""
    sources = []
    for name in ("rows.txt", "rows.tsv"):
        (tmp_path / name).write_text("text\nfirst text here\nsecond text here\n")
        sources.append(VectorTeacher(texts=str(tmp_path / name)).source())
    assert [len(source.read().texts) for source in sources] == [3, 2]
    assert sources[0].fingerprint() != sources[1].fingerprint()


def test_a_folder_of_a_pushed_version_as_a_teacher_is_refused_with_the_key_for_it(start, tmp_path):
    read_model(start["teacher"]).save_settings(tmp_path)
    for place, message in (
        (lambda: TeacherCheckpoint(str(tmp_path)), "set teacher.space in place of teacher.path to learn the space of"),
        (lambda: Release(str(tmp_path)), f"got {tmp_path}, whose last part is no number"),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            place().check()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"v": [1.0]}, "teacher.vectors[1] must be 2 numbers, as many as the first vector has, got (1,)"),
        ({"v": [0.0, 0.0]}, "teacher.vectors[1] must be no vector of zeros, which has no direction"),
        ({"v": [1.0, float("nan")]}, "teacher.vectors[1] must have finite numbers, got"),
        ({"v": "much"}, "column 'v' must be a number, a list or an object as JSON, got 'much'"),
        ({"v": ["a", "b"]}, "teacher.vectors[1] must be a list of numbers, got"),
        ({"v": 1.0}, "teacher.vectors[1] must be a list of numbers, got 'an array ()'"),
        ({"text": " "}, "rows.jsonl line 2: column 'text' must not be empty"),
    ],
)
def test_refuses_rows_whose_vector_or_text_cannot_be_used(tmp_path, change, message):
    rows = [{"text": "cow", "v": [1.0, 2.0]}, {"text": "hen", "v": [2.0, 2.0], **change}]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    with pytest.raises(InputError, match=re.escape(message)):
        VectorTeacher(texts=str(tmp_path / "rows.jsonl"), vectors="v").source().read()


def test_refuses_array_files_of_other_rows_and_unknown_columns(tmp_path):
    (tmp_path / "rows.tsv").write_text("text\tvector\ncow\t[1.0]\nhen\t[2.0]\n")
    texts, file = str(tmp_path / "rows.tsv"), str(tmp_path / "rows.npy")
    for array, message in (
        (np.ones((3, 4)), "teacher.vector_file must be 2, one for each text, got 3"),
        (np.array([[1.0, 2.0], [1.0, np.inf]]), "teacher.vector_file[1] must have finite numbers, got 'NaN or inf"),
        (np.ones(2), "teacher.vector_file must hold one array of real numbers (rows, width), got float64 (2,)"),
        (np.full((2, 2), 1j), "teacher.vector_file must hold one array of real numbers (rows, width), got complex128"),
        (np.array(["a", "b"], object), "teacher.vector_file must be a readable .npy file"),
    ):
        np.save(file, array, allow_pickle=True)
        with pytest.raises(InputError, match=re.escape(message)):
            VectorTeacher(texts=texts, vector_file=file).source().read()
    with pytest.raises(InputError, match=r"teacher.vectors must be a column of .*, got 'vectr'; did you mean 'vector'"):
        VectorTeacher(texts=texts, vectors="vectr").source().read()
    for fields, message in (
        ({"vectors": "v"}, "teacher.vectors must be left out without texts, the table that they belong to, got 'v'"),
        ({"texts": texts, "vectors": "v", "path": "x"}, "teacher.vectors must be left out beside path"),
        ({"texts": texts, "vectors": "v", "vector_file": file}, "teacher.vector_file must be left out beside vectors"),
    ):
        with pytest.raises(ValueError, match=re.escape(message)):
            read_json(VectorTeacher, fields, "teacher")


@pytest.fixture
def job(tmp_path):
    """The tables of a job."""
    tuning_job.write_checkpoint(tmp_path, num_layers=2)
    tuning_job.write_rows(tmp_path, "retrieval")
    (tmp_path / "texts.txt").write_text("\n".join(LINES))
    return {
        "name": "small",
        "max_length": 16,
        "checkpoint": {"path": str(tmp_path / "model")},
        "examples": {"task": "retrieval", "train": str(tmp_path / "queries.jsonl")},
        "student": {"layers": [1]},
        "teacher": {"texts": str(tmp_path / "texts.txt")},
        "quantization": {},
    }


def test_job_trains_no_teacher_and_computes_vectors_once_for_all_seeds(job, tmp_path):
    nodes = {node.name: node for node in build_pipeline(make_settings({**job, "seeds": 2}), tmp_path).nodes}
    assert not [name for name in nodes if name.startswith("fine_tune")]
    assert [name for name in nodes if name.startswith("embed_texts")] == ["embed_texts"]
    for name in ("distill-0", "distill-1", "quantize-0", "quantize-1"):
        assert nodes[name].inputs["examples"].node.name == "embed_texts"
    assert [handle.node.name for handle in nodes["evaluate"].inputs["teachers"]] == ["adopt_model-teacher"] * 2
    assert nodes["adopt_model-teacher"].values.get("keeps_prompts", True)
    assert not nodes["adopt_model-start"].values["keeps_prompts"]
    other = {**job, "teacher": {"path": str(tmp_path / "model"), **job["teacher"]}}
    nodes = {node.name: node for node in build_pipeline(make_settings(other), tmp_path).nodes}
    assert nodes["embed_texts"].inputs["teacher"].node.name == "adopt_model-teacher"
    assert nodes["distill"].inputs["teacher"].node.name == "adopt_model-start"
    given = {**job, "teacher": {"vectors": "v", **job["teacher"]}}
    nodes = {node.name: node for node in build_pipeline(make_settings(given), tmp_path).nodes}
    assert nodes["embed_texts"].inputs["teacher"] is None
    assert nodes["evaluate"].inputs["teachers"] == []
    settings = make_settings(given)
    with pytest.raises(InputError, match="a job whose students learn the vectors of another program has no teacher's"):
        Chain(settings, *wire_start(settings), 0).model()


def test_a_reduced_vocabulary_is_that_of_the_student_alone(job, tmp_path):
    """The teacher had it as well, and so other vectors than the checkpoint."""
    nodes = {
        node.name: node for node in build_pipeline(make_settings({**job, "fitted_vocabulary": {}}), tmp_path).nodes
    }
    assert nodes["adopt_model-teacher"].inputs["pretrained"].node.name == "import_checkpoint"
    assert nodes["adopt_model-start"].inputs["pretrained"].node.name == "fit_vocabulary"
    assert nodes["embed_texts"].inputs["vocabulary"].node.name == "fit_vocabulary"


SIZES = [
    {"name": "one", "student": {"layers": [0]}, "min_shares": {"teacher": 0.9}},
    {"name": "table", "student": {"kind": "static"}, "distillation": {"epochs": 3.0}, "min_shares": {"one": 0.5}},
]


def test_sizes_learn_the_same_vectors_with_the_usual_training_of_their_kind(job, tmp_path):
    tables = {**job, "seeds": 2, "distillation": {"learning_rate": 3e-4}, "teacher": {**job["teacher"], "sizes": SIZES}}
    nodes = {node.name: node for node in build_pipeline(make_settings(tables), tmp_path).nodes}
    for name in ("distill-one-1", "distill-table-1", "quantize-table-0"):
        assert nodes[name].inputs["examples"].node.name == "embed_texts"
    one, table = (nodes[f"distill-{name}-1"].values["distillation"] for name in ("one", "table"))
    assert (one.learning_rate, one.seed) == (3e-4, nodes["distill-1"].values["distillation"].seed)
    assert (table.learning_rate, table.epochs) == (3e-4, 3.0)
    assert nodes["distill-one-0"].values["shape"].layers == (0,)
    measured = nodes["measure_pairs"]
    names = [f"export_model-{name}-{seed}" for name in ("one", "table") for seed in (0, 1)]
    assert [handle.node.name for handle in measured.inputs["sizes"]] == names
    limits = {"student": {"teacher": 0.0}, "one": {"teacher": 0.9}, "table": {"one": 0.5}}
    assert (measured.values["names"], measured.values["limits"]) == (("one", "table"), limits)


def test_the_next_release_must_find_what_the_earlier_one_finds(job, tmp_path):
    for teacher, share in (({}, 0.0), ({"space": "runs/pushed/search/1"}, 0.99)):
        for given, expected in (({}, share), ({"min_share": 0.5}, 0.5), ({"min_share": 0.0}, 0.0)):
            tables = {**job, "teacher": {**job["teacher"], **teacher, **given}}
            nodes = {node.name: node for node in build_pipeline(make_settings(tables), tmp_path).nodes}
            assert nodes["measure_pairs"].values["limits"] == {"student": {"teacher": expected}}


def test_a_size_has_its_own_epochs_and_the_seed_of_the_job(job, tmp_path):
    sizes = [
        {"name": "one", "student": {"layers": [0]}, "distillation": {"epochs": 1.0}},
        {"name": "two", "student": {"layers": [0]}},
        {"name": "table", "student": {"kind": "static"}},
    ]
    tables = {**job, "distillation": {"steps": 3500, "seed": 7}, "teacher": {**job["teacher"], "sizes": sizes}}
    nodes = {node.name: node for node in build_pipeline(make_settings(tables), tmp_path).nodes}
    one, two, table = (nodes[f"distill-{size['name']}"].values["distillation"] for size in sizes)
    assert (one.steps, one.epochs) == (None, 1.0)
    assert (two.steps, table.steps) == (3500, None)
    assert [one.seed, two.seed, table.seed] == [7, 7, 7]


@pytest.mark.parametrize(
    ("size", "more", "message"),
    [
        (
            {"name": "teacher"},
            {},
            "teacher.sizes must have different names, none of them teacher or student, got 'teacher'",
        ),
        ({"min_shares": {"huge": 0.5}}, {}, "teacher.sizes.min_shares must name documents of ['teacher', 'student', "),
        ({"distillation": {"epoch": 1}}, {}, "teacher.sizes, one: distillation has no key 'epoch'"),
        ({"distillation": {"epochs": -1.0}}, {}, "teacher.sizes, one: distillation.epochs must be positive, got -1.0"),
        ({}, {"pruning": {}}, "pruning must be left out with [[teacher.sizes]], which are not pruned"),
        (
            {"distillation": {"hard_weight": 0.9}},
            {},
            "teacher.sizes, one: distillation.hard_weight must be left out with [teacher], as texts have no labels",
        ),
        (
            {"distillation": {"hidden_states": 1.0}},
            {},
            "teacher.sizes, one: distillation must have no imitation losses with [teacher]",
        ),
        (
            {"distillation": {"teachers": "seeds"}},
            {},
            "teacher.sizes, one: distillation.teachers must be 'own' with [teacher], got 'seeds'",
        ),
        ({"student": {"kind": "statik"}}, {}, "teacher.sizes.0.student.kind must be one of ['static'], got 'statik'"),
    ],
)
def test_refuses_sizes_that_no_step_could_make(job, size, more, message):
    with pytest.raises(InputError, match=re.escape(message)):
        make_settings({**job, **more, "teacher": {**job["teacher"], "sizes": [{**SIZES[0], **size}]}})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"student": None}, "teacher must be left out without [student], as no step would read it"),
        ({"fine_tuning": {}}, "fine_tuning must be left out with [teacher], whose vectors are all that"),
        ({"hard_negatives": {}}, "hard_negatives must be left out with [teacher]"),
        ({"distillation": {"hard_weight": 0.1}}, "distillation.hard_weight must be left out with [teacher], as texts"),
        ({"distillation": {"vectors": 1.0}}, "distillation must have no imitation losses with [teacher]"),
        ({"contrast": {}}, "contrast must be left out with [teacher], whose vectors are all that"),
        ({"teacher": {"texts": "x.tsv", "vectors": "v", "sentences": 2}}, "teacher.sentences must be left out where"),
        ({"teacher": {"texts": "x.tsv", "vectors": "v", "rows": True}}, "teacher.rows must be left out where another"),
        (
            {"teacher": {"texts": "x.tsv", "vectors": "v", "document_sentences": True}},
            "teacher.document_sentences must be left out where another program made the vectors",
        ),
        (
            {
                "examples": {"task": "embedding", "train": "x.tsv", "second_text": "other"},
                "teacher": {"document_sentences": True},
            },
            "teacher.document_sentences is only allowed for retrieval, got it for embedding",
        ),
        ({"examples": {"train": "x.tsv"}}, "teacher is only allowed for embedding and retrieval, got it for"),
    ],
)
def test_refuses_tables_that_no_step_would_read(job, change, message):
    tables = {name: value for name, value in {**job, **change}.items() if value is not None}
    with pytest.raises(InputError, match=re.escape(message)):
        make_settings(tables)


def test_one_text_and_a_search_for_a_student_are_refused_before_any_step(job, tmp_path):
    (tmp_path / "texts.txt").write_text("one line alone\n")
    settings = make_settings(job)
    capability = TeacherCapability()
    with pytest.raises(InputError, match=r"teacher.texts must hold at least two different texts, .* got 1"):
        capability.check_rows(settings.teacher, settings, {})
    with pytest.raises(InputError, match="a search for a student must have a job whose teacher is fine-tuned"):
        wire_students(settings)


@pytest.mark.parametrize(
    ("student", "more", "message"),
    [
        ({"layers": [9]}, {}, "teacher.sizes, one: student.layers must be from 0 to 1, the teacher's, got [9]"),
        ({"num_layers": 5}, {}, "teacher.sizes, one: student.num_layers must be at most 2, the teacher's, got 5"),
        (
            {"layers": [1]},
            {"quantization": {"float_layers": ["block_1/attention/query"]}, "student": {"layers": [0, 1]}},
            "teacher.sizes, one: quantization.float_layers must name blocks of the model that is rounded, 0 to 0",
        ),
        (
            {"layers": [1]},
            {"export": {"runtimes": ["tflite", "static_c"]}, "student": {"kind": "static"}},
            "teacher.sizes, one: export.runtimes must leave out 'static_c' here: only static models have such a file",
        ),
    ],
)
def test_sizes_that_the_checkpoint_does_not_have_are_refused_before_any_step(job, tmp_path, student, more, message):
    write_checkpoint(tmp_path, num_hidden_layers=2, num_attention_heads=2, type_vocab_size=2)
    teacher = {**job["teacher"], "sizes": [{"name": "one", "student": student}]}
    settings = make_settings({**job, **more, "checkpoint": {"path": str(tmp_path / "bert")}, "teacher": teacher})
    with pytest.raises(InputError, match=re.escape(message)):
        TeacherCapability().check_rows(settings.teacher, settings, {})


def save_model(folder, task):
    """The task as an artifact."""
    task.save(folder)
    model = Model(folder)
    model.seal({})
    return model


@pytest.mark.parametrize(("prompt", "of_job"), [("cow ", ""), ("", "hen "), ("cow ", "hen ")])
def test_a_student_gets_the_prompts_of_the_job_and_a_teacher_its_own(start, tmp_path, monkeypatch, prompt, of_job):
    """A teacher without prompts had those of the job."""
    task, features = read_model(start["teacher"]), start["examples"].features()
    prompts = {"query": prompt, "passage": prompt}
    source = save_model(
        tmp_path / "prompted", Embedding.build(task.encoder, task.tokenizer, max_length=16, prompts=prompts)
    )
    content = {**features, "settings": {**features["settings"], "prompts": {"query": of_job, "passage": of_job}}}
    monkeypatch.setattr(TaskExamples, "features", lambda examples: content)
    for keeps_prompts, expected in ((True, prompt), (False, of_job)):
        adopted = Model(tmp_path / f"adopted-{keeps_prompts}")
        adopt_model.run(pretrained=source, examples=start["examples"], model=adopted, keeps_prompts=keeps_prompts)
        assert read_model(adopted).prompts.passage == expected


def test_a_student_compares_vectors_as_its_teacher_does(start, tmp_path):
    """It compared them as the checkpoint does, which is another model where `teacher.path` or `space` is set."""
    task = read_model(start["teacher"])
    other = Embedding.build(
        task.encoder, task.tokenizer, max_length=16, normalize=False, similarity_function="euclidean"
    )
    teacher, folder = save_model(tmp_path / "euclidean", other), tmp_path / "pushed/search/3"
    with tuning_job.eagerly():
        folder.mkdir(parents=True)
        other.export(folder / "model.onnx")
        other.save_settings(folder)
        given = {"pretrained": start["teacher"], "examples": start["examples"], "keeps_prompts": False}
        for name, head, imitated, expected in (
            ("alone", HeadSettings(), {}, ("cosine", True)),
            ("model", HeadSettings(), {"teacher": teacher}, ("euclidean", False)),
            ("release", HeadSettings(), {"release": Release(str(folder))}, ("euclidean", False)),
            ("chosen", HeadSettings(normalize=True), {"teacher": teacher}, ("euclidean", True)),
        ):
            adopt_model.run(**given, model=Model(tmp_path / name), new_head=head, **imitated)
            made = read_model(Model(tmp_path / name))
            assert (made.similarity_function, made.normalize) == expected, name


def test_a_truncated_teacher_stays_truncated_and_its_student_has_its_width(start, tmp_path):
    """The teacher had all numbers, with the identifier of the space of the truncated vectors."""
    task = read_model(start["teacher"])
    source, adopted, begin = (
        save_model(tmp_path / "truncated", task.truncated(8)),
        *map(Model, (tmp_path / "t", tmp_path / "s")),
    )
    taught, student = TaughtVectors(tmp_path / "taught"), Model(tmp_path / "student")
    with tuning_job.eagerly():
        adopt_model.run(pretrained=source, examples=start["examples"], model=adopted)
        adopt_model.run(pretrained=source, examples=start["examples"], model=begin, keeps_prompts=False)
        teacher = read_model(adopted)
        np.testing.assert_allclose(teacher.predict(LINES), read_model(source).predict(LINES), atol=1e-6)
        embed_texts.run(**{**start, "teacher": adopted}, taught=taught)
        settings = table(DistillationSettings, TRAINING, steps=1)
        distill.run(teacher=begin, examples=taught, student=student, shape=Student(layers=(0,)), distillation=settings)
        made = read_model(student)
        assert made.predict(LINES[:2]).shape == (2, 8)
        assert made.space == teacher.space == task.space
    # `[export] dimension` of an earlier job holds for a release into the space of its file.
    assert _truncate(made, 8) is made


@pytest.mark.parametrize(
    ("change", "width"),
    [
        ({}, 16),
        ({"vectors": "v"}, 5),
        ({"space": "pushed/search/3"}, 8),
        ({"path": "bert"}, 16),
        ({"path": "dense"}, 12),
    ],
)
def test_truncated_files_have_a_width_below_that_of_the_teachers_vectors(job, tmp_path, change, width):
    """The widths of `[student]` were compared, which are not those of its vectors with `[teacher]`."""
    write_checkpoint(tmp_path, num_hidden_layers=2, num_attention_heads=2, hidden_size=16)
    rows = [{"text": text, "v": [1.0, 2.0, 3.0, 4.0, 5.0]} for text in LINES]
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    if "space" in change:
        folder, task = tmp_path / change["space"], read_model(Model(tmp_path / "model")).truncated(8)
        folder.mkdir(parents=True)
        with tuning_job.eagerly():
            task.export(folder / "model.onnx")
        task.save_settings(folder)
    if change == {"path": "dense"}:
        shutil.copytree(tmp_path / "bert", tmp_path / "dense")
        kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Dense": "Dense"}
        modules = [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds.items()]
        (tmp_path / "dense/modules.json").write_text(json.dumps(modules))
        for name, content in (("1_Pooling", {"pooling_mode_mean_tokens": True}), ("2_Dense", {"out_features": 12})):
            (tmp_path / "dense" / name).mkdir()
            (tmp_path / "dense" / name / "config.json").write_text(json.dumps(content))
    texts = "rows.jsonl" if "vectors" in change else "texts.txt"
    paths = {name: value if name == "vectors" else str(tmp_path / value) for name, value in change.items()}
    tables = {
        **job,
        "checkpoint": {"path": str(tmp_path / "bert")},
        "student": {"hidden_size": 4},
        "teacher": {"texts": str(tmp_path / texts), **paths},
    }
    check_examples(make_settings({**tables, "export": {"dimension": width}}))
    message = f"export.dimension must be at most {width}, the width of a vector, got {width + 1}"
    with pytest.raises(InputError, match=message):
        check_examples(make_settings({**tables, "export": {"dimension": width + 1}}))
    tables["page"] = {"path": str(tmp_path / "texts.txt")}
    assert f"vectors of {width} numbers" in check_examples(make_settings(tables))[-1]


def test_a_teacher_without_finite_vectors_is_refused(start, tmp_path):
    task = read_model(start["teacher"])
    table = task.encoder.get_layer("token_embedding")
    table.set_weights([np.full_like(weight, np.nan) for weight in table.get_weights()])
    task.save(tmp_path / "broken")
    broken = Model(tmp_path / "broken")
    broken.seal({})
    with tuning_job.eagerly(), pytest.raises(InputError, match=r"teacher.vectors must hold the vector of at least one"):
        embed_texts.run(**{**start, "teacher": broken}, taught=TaughtVectors(tmp_path / "taught"))


@pytest.mark.parametrize("kind", ["classification", "late_interaction"])
def test_refuses_a_teacher_that_makes_no_vector_of_a_text(start, tmp_path, kind):
    encoder, tokenizer = (getattr(read_model(start["teacher"]), name) for name in ("encoder", "tokenizer"))
    labels = {"labels": ["a", "b"]} if kind == "classification" else {}
    TASKS[kind].build(encoder, tokenizer, max_length=16, **labels).save(tmp_path / "other")
    other = Model(tmp_path / "other")
    other.seal({})
    with pytest.raises(InputError, match=rf"teacher.path must be a model of vectors, .* got one for {kind}"):
        adopt_model.run(pretrained=other, examples=start["examples"], model=Model(tmp_path / "adopted"))
