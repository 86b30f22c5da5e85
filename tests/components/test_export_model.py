import contextlib
import json
import shutil

import numpy as np
import pytest

from components.artifacts.standard import EdgeModel, Model, TaskExamples
from components.dsl.errors import InputError
from components.examples.registry import TASK_ROWS, read_rows, write_rows
from components.export_model import _choose_beside, are_pairs, export_model, read_features
from components.push import choose_files
from components.sources.table import TextRow
from components.training.model_folder import read_model
from keras_bert.accelerators.base import Coverage
from keras_bert.export.attachments import read_attachments
from keras_bert.export.targets.registry import TARGETS
from keras_bert.options.export import CORE_RUNTIMES, Export
from tests.keras_bert.accelerators.stand_in import Chip
from tests.keras_bert.compress import tiny


@pytest.fixture(scope="module")
def student(tmp_path_factory):
    from keras_bert.compress.quantization_parameters import QuantizationParameters
    from keras_bert.compress.quantize import QuantizationAware
    from keras_bert.tasks.classification import Classification
    from keras_bert.tokenizers.tokenizer import Tokenizer
    from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS

    folder = tmp_path_factory.mktemp("student")
    model = tiny.build()
    tiny.train(model, epochs=2)
    ranges = QuantizationAware(model, tiny.batches()).finish()
    pieces = [*SPECIAL_TOKENS, *(f"piece{number}" for number in range(50 - len(SPECIAL_TOKENS)))]
    tokenizer = Tokenizer(pieces, lowercase=True)
    Classification(model, tokenizer, labels=["no", "yes"], max_length=tiny.LENGTH).save(folder)
    QuantizationParameters("mixed_wi8_ai8", ranges).save(folder)
    Model(folder).seal({})
    return Model(folder)


@pytest.fixture(scope="module")
def float_model(student, tmp_path_factory):
    from keras_bert.compress.quantization_parameters import QUANTIZATION_FILE

    folder = tmp_path_factory.mktemp("float") / "model"
    shutil.copytree(student.path, folder, ignore=shutil.ignore_patterns(QUANTIZATION_FILE, "manifest.json"))
    Model(folder).seal({})
    return Model(folder)


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    from keras_bert.data.records import serialize, write_features, write_labels, write_records

    folder = tmp_path_factory.mktemp("examples")
    rows, labels = tiny.make_rows(64, seed=2)
    records = []
    for row, label in enumerate(labels):
        length = int(rows["padding_mask"][row].sum())
        # Single texts, as MediaPipe takes no pairs.
        features = {"token_ids": rows["token_ids"][row, :length].tolist(), "segment_ids": [0] * length}
        records.append(serialize({**features, "label": [int(label)], "text": b"", "second_text": b""}))
    write_records(folder / "validation.tfrecord", records)
    write_features(
        folder, {"task": "classification", "max_length": tiny.LENGTH, "counts": {"validation": len(records)}}
    )
    write_labels(folder, ["no", "yes"])
    texts = ["piece1 piece2", "p\u0131\u0113ce1 p\u012bece2", "PIECE3", "piece4\u200b"] * 16
    rows = [TextRow(text, "no") for text in texts]
    write_rows(folder / "validation.jsonl.gz", TASK_ROWS["classification"], rows)
    TaskExamples(folder).seal({})
    return TaskExamples(folder)


@pytest.fixture(scope="module")
def reports():
    """What the export of `edge` reported: done, total, note."""
    return []


@pytest.fixture(scope="module")
def edge(student, examples, reports, tmp_path_factory):
    edge = EdgeModel(tmp_path_factory.mktemp("edge"))
    export = Export(lengths=(8, 64), runtimes=CORE_RUNTIMES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("components.dsl.step_folders._sink", lambda *report: reports.append(report))
        export_model.run(model=student, examples=examples, edge=edge, export=export)
    return edge


def test_the_progress_rises_to_its_total_by_what_parts_were_measured_to_take(edge, reports):
    done, totals, notes = zip(*reports, strict=True)
    assert len(set(totals)) == 1
    assert list(done) == sorted(done)
    assert (done[0], done[-1]) == (0, pytest.approx(totals[0]))
    works = dict(zip(notes, np.diff(done), strict=False))
    # CPU seconds of 3 layers of width 384 and 500 rows of 128 tokens, by length of a file, and by file.
    measured = {"writing for tflite": 58.0 * 2 / 3, "writing for onnx": 9.6, "writing for mediapipe": 9.1}
    measured |= {"comparing model.tflite": 15.6, "comparing model.onnx": 12.2, "comparing model_text.tflite": 0.2}
    for note, seconds in measured.items():
        assert 9 * works[note] == pytest.approx(seconds, abs=1, rel=0.25)


def test_the_artifact_holds_all_that_a_device_needs(edge, student):
    models = {"model.tflite", "model_float32.tflite", "model.onnx", "model_mediapipe.tflite", "model_text.tflite"}
    models.add("saved_model.pb")
    expected = {*models, "vocab.txt", "tokenizer.json", "labels.json", "task.json"}
    web = {"config.json", "tokenizer.json", "tokenizer_config.json", "onnx"}
    names = {file.name for file in edge.path.iterdir()}
    folders = {"transformers_js", "variables", "assets", "assets.extra"}
    assert names == expected | {"golden.json", "export.json", "manifest.json"} | folders
    assert {file.name for file in edge.file("transformers_js").iterdir()} == web
    for name in models:
        held = read_attachments(edge.file(name))
        for companion in expected - models - {"labels.json"}:
            assert held[companion] == edge.file(companion).read_bytes()
    assert json.loads(edge.file("labels.json").read_text()) == ["no", "yes"]
    assert edge.file("vocab.txt").read_bytes() == student.file("vocab.txt").read_bytes()


def test_the_recipe_says_what_was_done_and_measured(edge):
    recipe = json.loads(edge.file("export.json").read_text())
    assert recipe["model.tflite"]["lengths"] == [8, 16]
    assert recipe["model.tflite"]["operations"]["FULLY_CONNECTED int8"] == 7
    assert recipe["model.tflite"]["agreement_with_rounded_model"] >= 0.95
    assert recipe["model.onnx"]["largest_difference"] <= 1e-4
    assert recipe["model_mediapipe.tflite"]["agreement_with_rounded_model"] >= 0.95
    assert recipe["model_mediapipe.tflite"]["lengths"] == [16]
    assert recipe["model_mediapipe.tflite"]["texts_with_other_ids"] == 0.5, "accents, and what has no width"
    assert recipe["model_text.tflite"]["largest_difference"] <= 1e-4
    assert recipe["model.onnx"]["libraries"].keys() == {"keras", "tensorflow", "tf2onnx", "onnx"}
    assert recipe["model_float32.tflite"]["rows_compared"] == 64
    assert recipe["model.onnx"]["bytes"] == edge.file("model.onnx").stat().st_size
    assert max(recipe["saved_model.pb"][f"largest_difference{of}"] for of in ("", "_of_texts")) <= 1e-4
    weights = edge.file("variables/variables.data-00000-of-00001").stat().st_size
    assert recipe["saved_model.pb"]["bytes"] > edge.file("saved_model.pb").stat().st_size + weights


def test_the_recipe_says_how_near_the_files_for_the_web_are(edge):
    recipe = json.loads(edge.file("export.json").read_text())
    files = {name.removeprefix("transformers_js/onnx/"): entry for name, entry in recipe.items() if "_js/" in name}
    assert files.keys() == {"model.onnx", "model_fp16.onnx", "model_int8.onnx", "model_quantized.onnx"}
    assert files["model.onnx"]["largest_difference"] <= 1e-5 < files["model_fp16.onnx"]["largest_difference"] < 0.1
    assert files["model_quantized.onnx"]["agreement_with_float_model"] >= 0.95
    assert files["model_int8.onnx"]["agreement_with_rounded_model"] >= 0.95
    assert [files[name]["weights"].split(",")[0] for name in sorted(files)] == ["float32", "float16", "int8", "int8"]
    for name, entry in files.items():
        assert entry["bytes"] == edge.file(f"transformers_js/onnx/{name}").stat().st_size
        assert entry["rows_compared"] == 64
        assert entry["libraries"].keys() == {"keras", "tensorflow", "tf2onnx", "onnx", "onnxruntime"}
        assert "vocab.txt" not in read_attachments(edge.file(f"transformers_js/onnx/{name}")), "each visitor fetches it"


def test_two_processes_write_the_files_of_one(student, examples, edge, tmp_path, monkeypatch):
    beside = []
    monkeypatch.setattr("components.export_model.can_call_beside", lambda memory: memory > 3e9)
    # Here one after the other: TensorFlow has run in this process.
    monkeypatch.setattr("components.export_model.call_beside", lambda call: beside.append(call()) or beside.pop)
    halves, files = EdgeModel(tmp_path / "edge"), {"model.tflite", "model_float32.tflite", "model.onnx"}
    export = Export(lengths=(8, 64), runtimes=("tflite", "onnx"))
    export_model.run(model=student, examples=examples, edge=halves, export=export)
    assert not beside
    whole, records = (json.loads(folder.file("export.json").read_text()) for folder in (edge, halves))
    assert records == {name: whole[name] for name in files}
    assert all(halves.file(name).read_bytes() == edge.file(name).read_bytes() for name in files)
    assert halves.counts == {name: edge.counts[name] for name in files}


def test_second_process_takes_at_most_half_of_the_files_and_keeps_targets_that_read_each_other_together():
    targets = [TARGETS[name] for name in ("tflite", "onnx", "mediapipe", "transformers_js")]
    assert [target.name for target in _choose_beside(targets, None)] == ["tflite", "mediapipe"]
    assert _choose_beside(targets[:1], None) == []


def test_a_file_that_says_something_else_is_not_published(float_model, examples, tmp_path, monkeypatch):
    from keras_bert.export import runtimes
    from keras_bert.export.check import ParityError

    monkeypatch.setattr(
        runtimes.OnnxModel, "predict_on_batch", lambda self, inputs: np.ones((len(inputs["token_ids"]), 2))
    )
    edge = EdgeModel(tmp_path / "edge")
    with pytest.raises(ParityError, match=r"model.onnx must differ by at most 0.0001"):
        export_model.run(model=float_model, examples=examples, edge=edge, export=Export(runtimes=("onnx",)))
    assert not edge.file("manifest.json").exists()


@pytest.mark.parametrize(
    ("kept", "agreed", "passes"), [(1.0, 0.99, True), (1.0, 0.92, False), (0.93, 0.91, True), (0.96, 0.87, False)]
)
def test_an_int8_file_may_differ_as_far_as_rounding_moves_the_answers(
    student, examples, edge, monkeypatch, kept, agreed, passes
):
    from keras_bert.compress.quantization_parameters import read_quantization
    from keras_bert.export.check import ParityError
    from keras_bert.export.comparison import compare_answers
    from keras_bert.export.files import LITERT
    from keras_bert.export.inputs import ComparisonRows, ExportInputs
    from keras_bert.tasks.classification import Classification

    # Quantized against float, then the file against the quantized model, then against float.
    agreements = iter((kept, agreed, 0.5))
    monkeypatch.setattr(Classification, "agreement", lambda *_: np.full(64, next(agreements)))
    source = ExportInputs(read_model(student), read_quantization(student.path), Export(), edge.path)
    sample = ComparisonRows(read_features(examples, "validation", 64), list, 0.98)
    expected = (
        contextlib.nullcontext() if passes else pytest.raises(ParityError, match=rf"to at least 0\.[89].* {agreed}")
    )
    with expected:
        measured = compare_answers(source, LITERT, sample)
        assert measured["agreement_of_rounded_and_float_model"] == pytest.approx(kept)


def test_of_a_model_that_was_not_trained_for_int8_there_are_float_files(float_model, examples, tmp_path, monkeypatch):
    edge, reports = EdgeModel(tmp_path / "edge"), []
    monkeypatch.setattr("components.dsl.step_folders._sink", lambda *report: reports.append(report))
    export_model.run(model=float_model, examples=examples, edge=edge, export=Export(runtimes=("tflite",), lengths=()))
    # A file with one length, written and then compared: 1 and 1.4 units.
    assert [note for *_, note in reports] == [
        *("writing for tflite", "comparing model_float32.tflite"),
        *("writing golden.json", "writing golden.json"),
    ]
    assert [done for done, *_ in reports] == pytest.approx([0, 1, 2.4, 3])
    assert [total for _, total, _ in reports] == pytest.approx([3] * 4)
    assert set(json.loads(edge.file("export.json").read_text())) == {"model_float32.tflite"}
    assert [file.name for file in edge.path.glob("model*")] == ["model_float32.tflite"]


def test_a_file_that_breaks_a_rule_is_not_published(float_model, examples, tmp_path):
    from keras_bert.export.lint import LintError

    swapped = tmp_path / "examples"
    shutil.copytree(examples.path, swapped)
    (swapped / "labels.json").write_text('["yes", "no"]')
    edge = EdgeModel(tmp_path / "edge")
    with pytest.raises(LintError, match=r"^model\.onnx, labels_of_task: .* must be \['yes', 'no'\]"):
        export_model.run(
            model=float_model, examples=TaskExamples(swapped), edge=edge, export=Export(runtimes=("onnx",))
        )
    assert not edge.file("manifest.json").exists()


@pytest.mark.parametrize(
    ("ends", "pairs"), [([[0, 1, 0], [1, 0, 0]], False), ([[1, 1, 0], [1, 0, 1]], True), ([[0, 1, 0], [1, 1, 0]], None)]
)
def test_rows_tell_whether_they_are_pairs(student, ends, pairs):
    task = read_model(student)
    ids = np.where(ends, task.tokenizer.sep_id, task.tokenizer.cls_id)
    assert are_pairs(task, {"token_ids": ids, "padding_mask": np.ones_like(ids)}) is pairs


@pytest.mark.parametrize(("count", "percentage"), [(64, 50), (1, 0)])
def test_a_log_warns_of_texts_of_which_mediapipe_makes_other_ids(
    student, examples, edge, caplog, monkeypatch, count, percentage
):
    from keras_bert.export import comparison
    from keras_bert.export.files import MEDIAPIPE
    from keras_bert.export.inputs import ComparisonRows, ExportInputs
    from keras_bert.export.targets.registry import TARGETS

    monkeypatch.setattr(comparison, "compare_answers", lambda *_: {"bytes": 1})
    source = ExportInputs(read_model(student), None, Export(), edge.path)
    texts = [row.text for row in read_rows(examples, "validation")[:count]]
    measured = TARGETS["mediapipe"].compare(source, MEDIAPIPE, ComparisonRows({}, lambda: texts, 0.98))
    assert measured == {"bytes": 1, "texts_with_other_ids": percentage / 100}
    message = "MediaPipe makes other token ids of 50.0 % of validation texts than the training did"
    assert (message in caplog.text) == bool(percentage) == bool(caplog.text)


@pytest.mark.usefixtures("stand_in_accelerators")
def test_a_file_is_compiled_for_accelerators(float_model, examples, tmp_path, monkeypatch):
    """The compiled file and what the tool says of it; a tool that refuses ends the export."""
    monkeypatch.setattr(Chip, "compile", compile_half)
    monkeypatch.setattr(Chip, "compile_onnx", compile_graph)
    export = Export(runtimes=("tflite",), lengths=(), accelerators=("maker/chip",))
    edge = EdgeModel(tmp_path / "edge")
    export_model.run(model=float_model, examples=examples, edge=edge, export=export)
    assert edge.file("accelerators/maker_chip.tflite").read_bytes() == b"compiled"
    assert [file.name for file in edge.path.glob("accelerators/*.onnx")] == ["float16_16.onnx"]
    (covered,) = json.loads(edge.file("accelerators/coverage.json").read_text()).values()
    assert (covered["operations"], covered["taken"], covered["left"]) == (9, 8, {"DIV": 1})
    assert "accelerators/coverage.json" in choose_files(edge)
    monkeypatch.setattr(Chip, "runs_whole", True)
    with pytest.raises(InputError, match=r"^export\.accelerators: maker/chip runs 8 of 9 .*the file must run whole$"):
        export_model.run(model=float_model, examples=examples, edge=EdgeModel(tmp_path / "other"), export=export)


def compile_half(accelerator, file, folder, largest_id):
    assert (file.name, largest_id) == ("model_float32.tflite", 49)
    (folder / accelerator.file_name).write_bytes(b"compiled")
    return Coverage(9, 8, 2, {"DIV": 1})


def compile_graph(accelerator, file, folder, lengths, largest_id):
    assert largest_id == 49
    for length in lengths:
        shutil.copyfile(file, folder / f"{file.stem}_{length}.onnx")
