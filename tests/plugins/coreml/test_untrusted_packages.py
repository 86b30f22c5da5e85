"""Packages of strangers for Core ML."""

import pytest


def test_weights_in_other_files(tmp_path):
    coremltools = pytest.importorskip("coremltools")
    from plugins.coreml.mil import read_functions

    file, weight = tmp_path / "package" / "model.mlmodel", "@model_path/weights/../../secret"
    (file.parent / "weights").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(bytes(256))
    model = coremltools.proto.Model_pb2.Model(specificationVersion=8)
    function = model.mlProgram.functions["serve_8"]
    function.opset = "CoreML7"
    operation = function.block_specializations["CoreML7"].operations.add(type="const")
    operation.outputs.add(name="w").type.tensorType.dataType = 11
    operation.attributes["val"].type.tensorType.dataType = 11
    operation.attributes["val"].blobFileValue.fileName = weight
    file.write_bytes(model.SerializeToString())
    with pytest.raises(ValueError, match=r"the weights of .*model\.mlmodel cannot be read"):
        read_functions(file)
