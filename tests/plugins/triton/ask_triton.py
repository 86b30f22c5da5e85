"""Asks a model repository in Triton; run by the environment of the servers.

    python ask_triton.py FOLDER < ROWS.json

Rows are a list of inputs by name, each of one row. The answers are JSON: logits, with the label of the largest, and the
number of batches.
"""

import concurrent.futures
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

# In place of Triton's ONNX Runtime backend, which is in no wheel: a backend that is a Python script.
BACKEND = """
import json, os
import numpy as np, onnxruntime, triton_python_backend_utils as triton

class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        file = os.path.join(args["model_repository"], args["model_version"], config["default_model_filename"])
        self.session = onnxruntime.InferenceSession(file)
        self.inputs, self.outputs = ([entry["name"] for entry in config[side]] for side in ("input", "output"))

    def execute(self, requests):
        read = triton.get_input_tensor_by_name
        rows = [[read(request, name).as_numpy() for name in self.inputs] for request in requests]
        print("batch of", len(rows), flush=True)
        batch = {name: np.concatenate(parts) for name, parts in zip(self.inputs, zip(*rows))}
        ends = np.cumsum([len(row[0]) for row in rows])[:-1]
        outputs = zip(*(np.split(output, ends) for output in self.session.run(self.outputs, batch)))
        return [triton.InferenceResponse([triton.Tensor(*pair) for pair in zip(self.outputs, row)]) for row in outputs]
"""


def ask_triton(folder, rows):
    """Answers of `tritonserver` to all rows at once, each a request."""
    import tritonclient.grpc as triton
    from google.protobuf import text_format
    from tritonclient.grpc.model_config_pb2 import ModelConfig

    config = text_format.Parse((folder / "model" / "config.pbtxt").read_text(), ModelConfig())
    output = config.output[0].name
    with tempfile.TemporaryDirectory() as scratch, _run_triton(folder, Path(scratch)) as port:
        client = triton.InferenceServerClient(f"localhost:{port}")

        def ask(row, labels=0):
            inputs = []
            for entry in config.input:
                values = np.array([row[entry.name]], np.int32)
                inputs.append(triton.InferInput(entry.name, values.shape, "INT32"))
                inputs[-1].set_data_from_numpy(values)
            outputs = [triton.InferRequestedOutput(output, class_count=labels)]
            return client.infer("model", inputs, outputs=outputs).as_numpy(output)[0].tolist()

        with concurrent.futures.ThreadPoolExecutor(len(rows)) as threads:
            logits = list(threads.map(ask, rows))
        labels = [ask(row, labels=1)[0].decode().split(":")[2] for row in rows]
        batches = [
            int(line.split()[-1]) for line in (Path(scratch) / "log").read_text().splitlines() if "batch of" in line
        ]
    return {"logits": logits, "labels": labels, "batches": batches, "max_batch_size": config.max_batch_size}


@contextlib.contextmanager
def _run_triton(repository, scratch):
    """Runs the server of nvidia-pytriton's wheel; yields its port."""
    import pytriton

    packages = Path(pytriton.__file__).parents[1]
    server, version = packages / "pytriton" / "tritonserver", f"{sys.version_info.major}.{sys.version_info.minor}"
    python = scratch / "backends" / "python"
    shutil.copytree(server / "backends" / "python", python)
    shutil.copytree(server / "python_backend_stubs" / version, python, dirs_exist_ok=True)
    (scratch / "backends" / "onnxruntime").mkdir()
    (scratch / "backends" / "onnxruntime" / "model.py").write_text(BACKEND)
    libraries = f"{packages / 'nvidia_pytriton.libs'}:{Path(sys.base_prefix) / 'lib'}"
    environment = {**os.environ, "LD_LIBRARY_PATH": libraries, "PYTHONPATH": str(packages)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(server / "bin" / "tritonserver"), f"--model-repository={repository}", f"--grpc-port={port}"]
    command += [f"--backend-directory={scratch / 'backends'}", "--allow-http=false", "--allow-metrics=false"]
    with (scratch / "log").open("w") as log:
        process = subprocess.Popen([*command, "--grpc-address=127.0.0.1"], env=environment, stdout=log, stderr=log)
    try:
        for _ in range(600):
            if "Started GRPCInferenceService" in (scratch / "log").read_text():
                break
            assert process.poll() is None, (scratch / "log").read_text()
            time.sleep(0.1)
        yield port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def main():
    """Prints the answers."""
    json.dump(ask_triton(Path(sys.argv[1]), json.load(sys.stdin)), sys.stdout)


if __name__ == "__main__":
    main()
