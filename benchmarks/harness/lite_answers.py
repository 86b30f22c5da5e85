"""Asks a `.tflite` file, with nothing but LiteRT: for interpreters on other processors.

PYTHON -m benchmarks.harness.lite_answers FILE LENGTH COUNT
"""

import sys

from ai_edge_litert.interpreter import Interpreter

from benchmarks.harness.passages import make_passage


def main(file: str, length: str, count: str) -> None:
    """Answers so often."""
    runner = Interpreter(file, num_threads=1).get_signature_runner(f"serve_{length}")
    passage = make_passage(int(length))
    for _ in range(int(count)):
        runner(**{name: passage[name] for name in runner.get_input_details()})


if __name__ == "__main__":
    main(*sys.argv[1:])
