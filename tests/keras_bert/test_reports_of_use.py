"""ONNX Runtime does not report its use to its makers, unless the user asks for it."""

import os
import subprocess
import sys

from onnx import helper

ANSWER = """
import os, sys
from keras_bert.export.runtimes import open_session

open_session(sys.argv[1]).run(None, {"x": [1.0]})
print(os.environ["ORT_DISABLE_TELEMETRY"])
"""


def test_no_event_is_kept(tmp_path):
    sides = [helper.make_tensor_value_info(name, 1, [1]) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "graph", sides[:1], sides[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    (tmp_path / "model.onnx").write_bytes(model.SerializeToString())
    home = tmp_path / "home"
    home.mkdir()
    kept = {name: value for name, value in os.environ.items() if "TELEMETRY" not in name and name[:4] != "XDG_"}
    environment = {**kept, "HOME": str(home)}
    command = [sys.executable, "-c", ANSWER, str(tmp_path / "model.onnx")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"
    # ONNX Runtime would keep a device id and a queue of events here.
    assert list(home.rglob("*")) == []
