"""Asks a `.tflite` file in LiteRT; run by a Python for aarch64, so that nothing of this project is there.

    python ask_litert.py FILE < ROWS.json

Rows are {name: [int, ...]} without padding; of each comes the output, as far as the row goes.
"""

import json
import platform
import sys

import numpy as np
from ai_edge_litert.interpreter import Interpreter


def main():
    """Prints the machine and the answers."""
    interpreter = Interpreter(model_path=sys.argv[1], num_threads=1)
    lengths = sorted(int(name.removeprefix("serve_")) for name in interpreter.get_signature_list())
    answers = []
    for row in json.load(sys.stdin):
        tokens = len(row["token_ids"])
        length = next(length for length in lengths if tokens <= length)
        inputs = {name: np.zeros((1, length), np.int32) for name in row}
        for name, values in row.items():
            inputs[name][0, :tokens] = values
        (output,) = interpreter.get_signature_runner(f"serve_{length}")(**inputs).values()
        answers.append((output[0, :tokens] if output.ndim == 3 else output[0]).tolist())
    json.dump({"machine": platform.machine(), "answers": answers}, sys.stdout)


if __name__ == "__main__":
    main()
