"""Files of strangers run no code and open no files outside of their folder; docs/robustness.md lists all formats."""

import json
import pickle
import zipfile
from pathlib import Path

import h5py
import keras
import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnx import helper

from components.files.tables import read_records
from keras_bert.core.folders import INPUT_NAMES
from keras_bert.export.attachments import attach_entries
from keras_bert.export.bundle import load_exported
from keras_bert.export.runtimes import OnnxModel, TFLiteModel
from keras_bert.export.sharing import read_model, write_model
from keras_bert.models.saving import load_model, save_model
from tests.keras_bert.export.word_tasks import make_task


class Touch:
    """Its pickle makes a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def make_keras(layer, file, **changes):
    """A model of one layer, some of whose settings are others in the file."""
    inputs = keras.Input((2,), dtype="float32" if layer.name != "lookup" else "string")
    save_model(keras.Model(inputs, layer(inputs)), file)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    config["config"]["layers"][1]["config"].update(changes)
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {**members, "config.json": json.dumps(config)}.items():
            archive.writestr(name, content)


def test_keras_layers_that_open_files(tmp_path):
    (tmp_path / "secret").write_text("secret\n")
    file = tmp_path / "model.keras"
    make_keras(keras.layers.StringLookup(vocabulary=["a"], name="lookup"), file, vocabulary=str(tmp_path / "secret"))
    with pytest.raises(ValueError, match=r"model that this library saved, got .*safe"):
        load_model(file)
    make_keras(keras.layers.Dense(1), file)
    content = json.loads(zipfile.ZipFile(file).read("config.json"))
    content["config"]["layers"][1].update(
        {"module": "keras.layers", "class_name": "TFSMLayer", "config": {"filepath": str(tmp_path)}}
    )
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("config.json", json.dumps(content))
        archive.writestr("metadata.json", "{}")
    with pytest.raises(ValueError, match=r"model that this library saved, got .*TFSMLayer"):
        load_model(file)


# Keras says so before it refuses the file.
@pytest.mark.filterwarnings("ignore:Skipping nested container:UserWarning")
@pytest.mark.parametrize("is_link", [True, False])
def test_keras_weights_in_other_files(is_link, tmp_path):
    file, weights, secret = (tmp_path / name for name in ("model.keras", "model.weights.h5", "secret"))
    make_keras(keras.layers.Dense(1, name="dense"), file)
    with zipfile.ZipFile(file) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    weights.write_bytes(members[weights.name])
    with h5py.File(weights, "a") as stream, h5py.File(secret, "w") as other:
        place = "layers/dense/vars/0"
        other["0"] = stream[place][()]
        del stream[place]
        if is_link:
            stream[place] = h5py.ExternalLink(str(secret), "0")
        else:
            stream.create_dataset(place, (2, 1), "float32", external=[(str(secret), 0, 8)])
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in {**members, weights.name: weights.read_bytes()}.items():
            archive.writestr(name, content)
    with pytest.raises(ValueError, match=r"model that this library saved, got .*(ExternalLink|external Dataset)"):
        load_model(file)


def write_onnx(file, operation, domain="", location=""):
    weight = onnx.TensorProto(name="w", data_type=1, dims=[1])
    if location:
        weight.data_location = onnx.TensorProto.EXTERNAL
        weight.external_data.add(key="location", value=location)
    else:
        weight.float_data.append(1.0)
    sides = [helper.make_tensor_value_info(name, 1, [1]) for name in ("x", "y")]
    node = helper.make_node(operation, ["x", "w"], ["y"], domain=domain)
    graph = helper.make_graph([node], "graph", sides[:1], sides[1:], [weight])
    opsets = [helper.make_opsetid("", 17), *([helper.make_opsetid(domain, 1)] if domain else [])]
    file.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


def test_onnx_weights_in_other_files_and_operations_of_libraries(tmp_path):
    folder, secret = tmp_path / "model", tmp_path / "secret"
    folder.mkdir()
    np.ones(1, np.float32).tofile(secret)
    (folder / "link").symlink_to(secret)
    for location in ("../secret", str(secret), "link"):
        write_onnx(folder / "model.onnx", "Add", location=location)
        with pytest.raises(ValueError, match=r"model\.onnx must be an \.onnx file: .*path"):
            OnnxModel(folder / "model.onnx", 8)
    write_onnx(folder / "model.onnx", "Evil", "strangers")
    with pytest.raises(ValueError, match=r"model\.onnx must be an \.onnx file: .*Evil.* is not a registered"):
        OnnxModel(folder / "model.onnx", 8)


def test_tflite_operations_of_tensorflow_and_of_libraries(files, tmp_path):
    for name in ("FlexReadFile", "Evil"):
        model = read_model((files / "model_float32.tflite").read_bytes())
        for code in model.operatorCodes:
            code.builtinCode, code.deprecatedBuiltinCode, code.customCode = 32, 32, name
        (tmp_path / "model.tflite").write_bytes(write_model(model))
        with pytest.raises((ValueError, RuntimeError), match=name):
            TFLiteModel(tmp_path / "model.tflite")(**dict.fromkeys(INPUT_NAMES, np.ones((1, 8), np.int32)))


def test_attached_files_are_read_by_name_and_not_unpacked(tmp_path):
    file = tmp_path / "inner" / "model.tflite"
    make_task("classification").export(file, lengths=[8])
    attach_entries(file, {"../outside": b"a", str(tmp_path / "absolute"): b"a"})
    before = sorted(tmp_path.rglob("*"))
    load_exported(file)
    assert sorted(tmp_path.rglob("*")) == before


def test_tables_with_pickles(tmp_path):
    ran = tmp_path / "ran"
    content = pickle.dumps(Touch(ran))
    fields = {b"ARROW:extension:name": b"arrow.py_extension_type", b"ARROW:extension:metadata": content}
    schema_ = pa.schema([pa.field("text", pa.string(), metadata=fields)])
    for kind, writer in ((".arrow", pa.ipc.new_file), (".parquet", pq.ParquetWriter)):
        with writer(str(tmp_path / f"a{kind}"), schema_) as stream:
            stream.write_table(pa.table([["film"]], schema=schema_))
        assert [record.values[0] for record in read_records(str(tmp_path / f"a{kind}"), ("text",))] == [b"film"]
    assert not ran.exists()
    pickle.loads(content)
    assert ran.exists(), "the pickle is one that runs"
