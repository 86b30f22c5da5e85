"""Runs a model file for another process; the Python of an emulated processor runs it, so it imports nothing of ours.

    python worker.py FILE

Messages of both directions are `.npz` archives after their size, 8 bytes. A request has the inputs of one call by name,
and for LiteRT the number of the signature's tokens as `length`. A reply has the outputs by name, or `error`, a text.
"""

import io
import os
import struct
import sys
from collections.abc import Callable, Mapping
from typing import IO, Any

import numpy as np

Arrays = Mapping[str, np.ndarray[Any, Any]]


def read_message(stream: IO[bytes]) -> dict[str, np.ndarray[Any, Any]] | None:
    """The arrays of the next message by name; None at the end."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    with np.load(io.BytesIO(stream.read(struct.unpack("<q", head)[0]))) as arrays:
        return dict(arrays)


def write_message(stream: IO[bytes], arrays: Arrays) -> None:
    """Writes arrays by name as one message."""
    buffer, named = io.BytesIO(), dict[str, Any](arrays)
    np.savez(buffer, **named)
    stream.write(struct.pack("<q", buffer.tell()) + buffer.getvalue())
    stream.flush()


def open_lite(file: str) -> Callable[..., Arrays]:
    """A function of the inputs and the length, for a `.tflite` file."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=file, num_threads=1)

    def answer(length: Any, **inputs: Any) -> Arrays:
        outputs: Arrays = interpreter.get_signature_runner(f"serve_{int(length)}")(**inputs)
        return outputs

    return answer


def open_onnx(file: str) -> Callable[..., Arrays]:
    """A function of the inputs, for an `.onnx` file."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(file, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda **inputs: dict(zip(names, session.run(names, inputs), strict=True))


def main() -> None:
    """Answers until the other process ends."""
    # Libraries print to the standard output; what they print goes where errors go.
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    answer: Callable[..., Arrays] | None = None
    while (request := read_message(requests)) is not None:
        try:
            answer = answer or (open_lite if sys.argv[1].endswith(".tflite") else open_onnx)(sys.argv[1])
            reply = answer(**request)
        except Exception as error:
            # The errors of the runtimes have no common class.
            reply = {"error": np.array(" ".join(str(error).split())[:500])}
        write_message(replies, reply)


if __name__ == "__main__":
    main()
