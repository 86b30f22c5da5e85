"""Triton gets the `.onnx` file, with its inputs, lengths and labels."""

import pytest

from components.artifacts.standard import EdgeModel
from components.dsl.errors import InputError
from keras_bert.export.inputs import ExportInputs
from keras_bert.export.targets.registry import TARGETS
from keras_bert.interop.model_files import find_model_files
from keras_bert.options.export import Export
from tests.components.test_push import TOKENIZER, push_once, seal
from tests.keras_bert.export.word_tasks import make_task
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load


def test_the_repository_has_the_onnx_file_with_its_inputs_lengths_and_labels(tmp_path):
    task = make_task("classification")
    source = ExportInputs(task, None, Export(lengths=(8, 16), runtimes=("onnx", "triton")), tmp_path)
    for name in source.options.runtimes:
        TARGETS[name].write(source)
    config = (tmp_path / "triton/model/config.pbtxt").read_text()
    lengths = " ".join(map(str, source.options.choose_lengths(task.max_length)))
    for line in (
        'input { name: "token_ids" data_type: TYPE_INT32 dims: [ -1 ] }',
        f'output {{ name: "logits" data_type: TYPE_FP32 dims: [ {len(task.labels)} ] label_filename: "labels.txt" }}',
        f'parameters {{ key: "lengths" value {{ string_value: "{lengths}" }} }}',
    ):
        assert f"{line}\n" in config
    assert (tmp_path / "triton/model/labels.txt").read_text() == "".join(f"{label}\n" for label in task.labels)
    assert (tmp_path / "triton/model/1/model.onnx").read_bytes() == (tmp_path / "model.onnx").read_bytes()


def test_the_file_that_is_scored_stands_beside(tmp_path):
    job = CHECKPOINT + EXAMPLES + "[export]\nruntimes = "
    assert load(tmp_path, job + "['onnx', 'triton']").export.runtimes == ("onnx", "triton")
    with pytest.raises(InputError, match=r"^export\.runtimes must hold 'onnx' beside 'triton', got \['triton'\]$"):
        load(tmp_path, job + "['triton']")


def test_a_published_model_replaces_the_repository_of_an_earlier_one():
    names = ["triton/model/config.pbtxt", "triton/model/1/model.onnx", "notes/triton.md", "triton.md"]
    assert find_model_files(names) == ["triton/model/1/model.onnx", "triton/model/config.pbtxt"]


def test_the_repository_is_pushed(tmp_path):
    files = {"triton/model/1/model.onnx": "a", "model.onnx": "a", "export.json": "{}", "vocab.txt": ""}
    files |= {"task.json": '{"task": "embedding", "max_length": 8}', "golden.json": "[]", "tokenizer.json": TOKENIZER}
    push_once(tmp_path, 1, seal(EdgeModel(tmp_path / "a"), files))
    assert (tmp_path / "models" / "1" / "triton" / "model" / "1" / "model.onnx").is_file()
