"""What accelerators say of a file: how their tools are asked, with tools that stand in for them."""

import importlib
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from components.dsl.errors import install_command
from keras_bert.accelerators.base import AcceleratorError
from keras_bert.accelerators.registry import compile_file, find_accelerator, load_kinds
from keras_bert.export.rules.lite_graphs import builtin_number, read_graphs
from keras_bert.export.sharing import read_model, write_model
from keras_bert.export.tflite import export_tflite
from plugins.accelerators import tools
from plugins.accelerators.micro import replace_gelu
from plugins.accelerators.microcontrollers import find_operators, keep_integers, write_sources
from tests.keras_bert.compress import tiny
from tests.keras_bert.export.grids import export_on_grids

# As Vela prints its counts, with one operation that it leaves, and plans memory: the ids at byte 64.
VELA = """
import pathlib, sys
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from keras_bert.export.sharing import read_model, write_model
source, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[-1])
print("Warning (supported operators) operator: DIV, ofm: 'mean'")
print("Reason: Unsupported opType")
print("CPU operators = 1 (0.5%)")
print("NPU operators = 199 (99.5%)")
model = read_model(source.read_bytes())
model.subgraphs[0].tensors[-1].shape = None  # as the schema reads a scalar's
offsets = [64 if n == model.subgraphs[0].inputs[0] else -1 for n in range(len(model.subgraphs[0].tensors))]
model.buffers.append(schema.BufferT())
model.buffers[-1].data = np.array([0, 1, len(offsets), *offsets], np.int32).view(np.uint8)
model.metadata = [schema.MetadataT()]
model.metadata[0].name, model.metadata[0].buffer = b"OfflineMemoryAllocation", len(model.buffers) - 1
(folder / f"{source.stem}_vela.tflite").write_bytes(write_model(model))
summary = "accelerator,inference_time,sram_memory_used,dram_memory_used,off_chip_flash_memory_used"
(folder / f"{source.stem}_summary_default.csv").write_text(summary + "\\nEthos,0.00125,24.25,0.0,100\\n")
"""


@pytest.fixture(scope="module")
def integers(tmp_path_factory):
    path = tmp_path_factory.mktemp("integers") / "model.tflite"
    export_on_grids(tiny.build(), "static_wi8_ai8", path, (8, 16), tiny.make_rows(16)[0])
    return path


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    """Installs a package whose module is a program."""

    def install(module, program):
        package, _, name = module.partition(".")
        (tmp_path / "site" / package).mkdir(parents=True, exist_ok=True)
        (tmp_path / "site" / package / "__init__.py").touch()
        (tmp_path / "site" / package / f"{name}.py").write_text(program)
        importlib.invalidate_caches()
        # Another test's package of this name.
        monkeypatch.delitem(sys.modules, package, raising=False)

    monkeypatch.syspath_prepend(tmp_path / "site")
    return install


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "compiled").mkdir()
    return tmp_path / "compiled"


def test_a_tool_is_asked_and_its_counts_reasons_and_figures_are_read(integers, stand_in, folder):
    stand_in("ethosu.vela", VELA)
    assert find_accelerator("ethos-u55-128").find_obstacle() is None
    coverage = compile_file("ethos-u55-128", integers, folder, 49)
    assert (coverage.operations, coverage.taken, coverage.left) == (200, 199, {"DIV: Unsupported opType": 1})
    (graph,) = read_graphs(folder / "ethos-u55-128.tflite")
    # Ids of 8 tokens, and the interpreter's structures.
    arena = 64 + 32 + 4096 + 24 * len(graph.tensors) + 576 * len(graph.operations)
    assert coverage.figures.pop("KB of arena, at most") == pytest.approx(arena / 1000, abs=0.016)
    assert coverage.figures == {"milliseconds, estimated": 1.25, "KB of SRAM": 24.832, "KB of flash": 102.4}
    assert {"AddBatchMatMul", "AddFullyConnected", "AddGather"} < set(coverage.operators)
    assert {file.name for file in folder.iterdir()} == {f"ethos-u55-128{suffix}" for suffix in (".tflite", ".h", ".cc")}


APP = """#include "{name}.h"
#include <cstdint>
#include <cstdio>
namespace app = {name};
struct Resolver {{ int count = 0; {methods} }};
int main() {{
  Resolver resolver;
  if (!app::register_operators(resolver) || resolver.count != int(app::operator_count)) return 1;
  if (reinterpret_cast<std::uintptr_t>(app::model) % 16 || app::token_ids == app::padding_mask) return 2;
  return app::model_size != std::fwrite(app::model, 1, app::model_size, stdout);
}}
"""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
def test_an_app_compiles_the_bytes_of_a_file_in(integers, tmp_path):
    file = tmp_path / "made.tflite"
    file.write_bytes(keep_integers(integers.read_bytes()))
    operators = find_operators(file)
    write_sources(file, 4096, operators)
    methods = " ".join(f"int {name}() {{ ++count; return 0; }}" for name in operators)
    (tmp_path / "app.cc").write_text(APP.format(name="made", methods=methods))
    command = ["g++", "-std=c++11", "-Wall", "-Wextra", "-Werror", "app.cc", "made.cc", "-o", "app"]
    subprocess.run(command, cwd=tmp_path, check=True)
    assert subprocess.run(tmp_path / "app", check=True, capture_output=True).stdout == file.read_bytes()


def test_a_lookup_has_litert_s_answers_of_gelu(integers):
    """LiteRT for Microcontrollers has no GELU; all 256 inputs."""
    content = keep_integers(integers.read_bytes())
    model, made = read_model(content), read_model(replace_gelu(content))
    graph, kinds = model.subgraphs[0], [builtin_number(code) for code in model.operatorCodes]
    (gelu,) = (
        operation for operation in graph.operators if kinds[operation.opcodeIndex] == schema.BuiltinOperator.GELU
    )
    (lookup,) = (other for other in made.subgraphs[0].operators if list(other.outputs) == list(gelu.outputs))
    table = np.asarray(made.buffers[made.subgraphs[0].tensors[lookup.inputs[0]].buffer].data).view(np.int8)
    graph.operators, graph.inputs, graph.outputs, model.signatureDefs = [gelu], gelu.inputs, gelu.outputs, []
    interpreter = Interpreter(model_content=write_model(model))
    interpreter.allocate_tensors()
    values = np.resize(np.arange(-128, 128), graph.tensors[gelu.inputs[0]].shape).astype(np.int8)
    interpreter.set_tensor(int(gelu.inputs[0]), values)
    interpreter.invoke()
    np.testing.assert_array_equal(interpreter.get_tensor(int(gelu.outputs[0])), table[values.astype(int) + 128])


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os\nprint('at work')\nos.abort()", "the tool of ethos-u55-128 crashed with SIGABRT: at work"),
        ("raise SystemExit('Error: no such thing')", "ethos-u55-128 refuses model.tflite: Error: no such thing"),
        ("print('NPU operators = 1 (100.0%)')", "ethos-u55-128 refuses model.tflite: NPU operators = 1 (100.0%)"),
        ("import time\ntime.sleep(60)", "ethos-u55-128 did not end within 1 seconds, and was stopped"),
    ],
    ids=["crashes", "refuses", "says nothing", "hangs"],
)
def test_a_tool_that_fails_is_one_sentence(program, reason, integers, stand_in, folder, monkeypatch):
    stand_in("ethosu.vela", program)
    monkeypatch.setattr(tools, "SECONDS", 1.0)
    started = time.monotonic()
    with pytest.raises(AcceleratorError) as error:
        find_accelerator("ethos-u55-128").compile(integers, folder, 49)
    assert str(error.value) == reason
    assert time.monotonic() - started < 20


# As an engine that answers rows: what `serve_rows` does, with answers of its own.
ENGINE = """
import pathlib, sys
import numpy as np
from plugins.accelerators.tools import serve_rows
print("as on the GPU")
serve_rows(sys.argv[-1], lambda length, row: {{"logits": {answer}}})
"""
ROWS = {8: {"token_ids": np.arange(24).reshape(3, 8)}, 16: {"token_ids": np.arange(32).reshape(2, 16)}}


def test_rows_of_every_length_are_answered_by_a_process(folder):
    program = ENGINE.format(answer="row['token_ids'][:, :2].astype(float)")
    answers, output = tools.exchange_rows("gpu", [sys.executable, "-c", program], ROWS, folder)
    assert {length: answers[length]["logits"].tolist() for length in answers} == {
        8: [[0, 1], [8, 9], [16, 17]],
        16: [[0, 1], [16, 17]],
    }
    assert "as on the GPU" in output


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        (ENGINE.format(answer="np.zeros((1, 2))"), "gpu answers only zeros: as on the GPU"),
        (ENGINE.format(answer="np.full((1, 2), np.nan)"), "gpu answers numbers that are not finite: as on the GPU"),
        ("raise SystemExit('Error: out of memory')", "gpu cannot answer: Error: out of memory"),
        ("import os\nos.abort()", "the tool of gpu crashed with SIGABRT: "),
        ("import time\ntime.sleep(60)", "gpu did not end within 1 seconds, and was stopped"),
    ],
    ids=["zeros", "not finite", "fails", "crashes", "hangs"],
)
def test_an_engine_that_fails_is_one_sentence(program, reason, folder, monkeypatch):
    if "sleep" in program:
        monkeypatch.setattr(tools, "SECONDS", 1.0)
        monkeypatch.setattr(tools, "_SECONDS_A_ROW", 0.0)
    with pytest.raises(AcceleratorError) as error:
        tools.exchange_rows("gpu", [sys.executable, "-c", program], ROWS, folder)
    assert str(error.value) == reason


def test_children_of_a_tool_that_hangs_are_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(tools, "SECONDS", 1.0)
    # A shell has written the file long before the second is over, on a busy machine as well.
    program = 'sleep 60 & echo $! > "$0"; wait'
    with pytest.raises(AcceleratorError, match="did not end"):
        tools.run_tool("the tool", ["sh", "-c", program, str(tmp_path / "pid")])
    child = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and Path(f"/proc/{child}").is_dir() and _state(child) != "Z":
        time.sleep(0.05)
    assert not Path(f"/proc/{child}").is_dir() or _state(child) == "Z"


def _state(process):
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_package_that_is_not_installed_is_named_with_the_command(monkeypatch):
    for name, package in (
        ("qualcomm/SM8650", "onnxruntime_qnn"),
        ("ethos-u85-256", "ethosu"),
        ("intel/LNL", "openvino"),
    ):
        monkeypatch.setitem(sys.modules, package, None)
        assert find_accelerator(name).find_compiler_obstacle() == find_accelerator(name).find_obstacle()
        assert find_accelerator(name).find_obstacle() == (
            f"{name} needs the Python package {package}, which is not installed: {install_command('accelerators')}"
        )


def test_names_are_found_and_others_get_the_nearest():
    assert all(find_accelerator(name).name == name for kind in load_kinds().values() for name in kind.chips)
    with pytest.raises(AcceleratorError, match=r"got 'qualcom/sm8650'; nearest: 'qualcomm/SM8650'$"):
        find_accelerator("qualcom/sm8650")


def test_recipes_that_a_chip_does_not_take_are_refused():
    find_accelerator("gpu").check_recipe(None)
    find_accelerator("qualcomm/SM8650").check_recipe("weights_wi4")
    with pytest.raises(AcceleratorError, match=r"^ethos-u85-256 takes files of static_wi8_ai8, got float32$"):
        find_accelerator("ethos-u85-256").check_recipe(None)
    with pytest.raises(AcceleratorError, match=r"^gpu takes files of float32, mixed_wi8_ai8, .*, got static_wi8_ai16$"):
        find_accelerator("gpu").check_recipe("static_wi8_ai16")


def test_a_file_for_microcontrollers_has_one_signature_and_answers_in_integers(integers, tmp_path):
    (tmp_path / "model.tflite").write_bytes(keep_integers(integers.read_bytes()))
    (graph,) = read_graphs(tmp_path / "model.tflite")
    # LiteRT keeps its signatures by name: "serve_16" stands before "serve_8".
    whole = read_graphs(integers)[1]
    assert whole.tensors[whole.inputs["token_ids"]].shape == (1, 8)
    assert len(graph.operations) == len(whole.operations) - 1
    last = graph.operations[-1]
    assert graph.tensors[last.outputs[0]].type == "int8"
    assert graph.inputs.keys() == whole.inputs.keys()


def test_float_answers_stay(tmp_path):
    export_tflite(tiny.build(), tmp_path / "model.tflite", (8,))
    (tmp_path / "made.tflite").write_bytes(keep_integers((tmp_path / "model.tflite").read_bytes()))
    assert read_graphs(tmp_path / "made.tflite")[0].operations == read_graphs(tmp_path / "model.tflite")[0].operations


def test_a_maker_s_sdk_is_asked_for_where_only_the_maker_has_the_compiler(stand_in, tmp_path):
    mediatek, intel = map(find_accelerator, ("mediatek/MT6991", "intel/LNL"))
    assert mediatek.find_obstacle() == (
        "mediatek/MT6991 needs the Python package ai_edge_litert_sdk_mediatek, which is not installed: "
        "pip install ai-edge-litert-sdk-mediatek"
    )
    stand_in("openvino.__init__", "")
    libraries = tmp_path / "site/openvino/libs"
    assert intel.find_obstacle() is None
    assert intel.find_compiler_obstacle() == (
        f"intel/LNL needs Intel's compiler, which is not in {libraries}: pip install ai-edge-litert-sdk-intel"
    )
    libraries.mkdir()
    (libraries / "libopenvino_intel_npu_compiler_loader.so").touch()
    assert intel.find_compiler_obstacle() is None


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="LiteRT's compiler is a program for Linux")
def test_an_sdk_that_was_installed_without_its_download_is_named(integers, stand_in, folder):
    stand_in("ai_edge_litert_sdk_mediatek.__init__", "path_to_sdk_libs = lambda version: None")
    with pytest.raises(
        AcceleratorError,
        match=r"^mediatek/MT6991 needs the compiler of MediaTek, which is not on this.*; pip install "
        r"ai-edge-litert-sdk-mediatek$",
    ):
        find_accelerator("mediatek/MT6991").compile(integers, folder, 49)


def test_libraries_are_those_of_the_makers_package_for_litert(stand_in, folder):
    stand_in("ai_edge_litert_sdk_mediatek.__init__", "path_to_sdk_libs = lambda version: f'/sdk/{version}'")
    stand_in("ai_edge_litert_sdk_samsung.__init__", "path_to_sdk_libs = lambda: '/sdk'")
    assert find_accelerator("mediatek/MT6991").libraries(folder) == [Path("/sdk/v8")]
    assert find_accelerator("samsung/E9965").libraries(folder) == [Path("/sdk")]
    assert find_accelerator("google/Tensor_G5").libraries(folder) == []


def test_an_sdk_for_another_machine_and_a_tool_for_another_are_one_sentence(stand_in, folder, tmp_path):
    program = "def path_to_sdk_libs():\n    raise NotImplementedError('only Linux x86')"
    stand_in("ai_edge_litert_sdk_google_tensor.__init__", program)
    with pytest.raises(AcceleratorError, match=r"^google/Tensor_G5 cannot be .* on this machine: only Linux x86$"):
        find_accelerator("google/Tensor_G5").libraries(folder)
    with pytest.raises(AcceleratorError, match=r"^the tool of gpu cannot be started on this machine: "):
        tools.run_tool("gpu", [str(tmp_path / "tool")])


def test_without_a_driver_the_gpu_says_how_to_get_one(integers, folder, monkeypatch):
    monkeypatch.setenv("VK_DRIVER_FILES", os.devnull)
    with pytest.raises(
        AcceleratorError, match=r"^gpu needs a driver of Vulkan that the engine takes, found none: .* apt-get"
    ):
        find_accelerator("gpu").compile(integers, folder, 49)
