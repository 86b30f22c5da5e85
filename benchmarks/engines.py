"""Accuracy and logits of a quantized classifier on the engines of chips, beside the processor, on the same test rows.

    python -m benchmarks.engines MODEL EXAMPLES --rows 300 --accelerators gpu qualcomm/SM8650

MODEL and EXAMPLES are artifacts of a job, `artifacts/quantize/...` and `artifacts/ingest_examples/...`. The files are
those that the job exports.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from components.artifacts.standard import Model, TaskExamples
from components.examples.registry import read_rows
from components.training.model_folder import read_model
from keras_bert.accelerators.recorded import RecordedModel
from keras_bert.accelerators.registry import answer_rows, compile_onnx, find_accelerator
from keras_bert.compress.quantization_parameters import read_quantization
from keras_bert.core.folders import ACCELERATORS_FOLDER, TFLITE_FILE
from keras_bert.export.onnx_chips import export_for_chips
from keras_bert.export.quantized import export_quantized


def main() -> None:
    """Prints a line for each engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("examples", type=Path)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--lengths", type=int, nargs="+", default=[16, 32])
    parser.add_argument("--accelerators", nargs="+", default=["gpu", "qualcomm/SM8650"])
    options = parser.parse_args()
    task, quantization = read_model(Model(options.model)), read_quantization(options.model)
    assert quantization is not None
    rows = read_rows(TaskExamples(options.examples), "test")[options.first :][: options.rows]
    truth = np.array([task.labels.index(row.label) for row in rows])
    encoded = task.encode([row.text for row in rows], [row.second_text for row in rows] if task.pairs else None)
    with tempfile.TemporaryDirectory() as folder:
        lite = Path(folder) / TFLITE_FILE
        export_quantized(task.network(), lite, options.lengths, quantization, None, output=task.output_name)
        for name in options.accelerators:
            if find_accelerator(name).takes_onnx:
                graph = export_for_chips(task, Path(folder), quantization.ranges)
                last_id = task.tokenizer.vocabulary_size - 1
                compile_onnx(name, graph, Path(folder) / ACCELERATORS_FOLDER, options.lengths, last_id)
            model, started = RecordedModel(lite), time.monotonic()
            expected = model.predict_on_batch(encoded)
            answered = answer_rows(name, lite, model.rows())
            assert answered is not None
            model.replay(answered.answers)
            logits, seconds = model.predict_on_batch(encoded), time.monotonic() - started
            ours, theirs = (100 * np.mean(values.argmax(1) == truth) for values in (expected, logits))
            same, differences = np.mean(expected.argmax(1) == logits.argmax(1)), expected - logits
            print(
                f"{answered.engine}: {len(rows)} rows, accuracy {theirs:.2f} (processor {ours:.2f}), same label "
                f"{100 * same:.1f} %, logits {np.sqrt(np.mean(differences**2)):.3f} apart (root mean square; largest "
                f"{np.abs(differences).max():.2f}), {seconds / len(rows):.1f} s a row",
                flush=True,
            )


if __name__ == "__main__":
    main()
