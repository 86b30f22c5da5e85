"""The plain loop of `benchmarks.batch_answers`: the simplest code with ONNX Runtime.

python -m benchmarks.harness.onnx_loop CHECKPOINT MODEL TABLE OUT MAX_LENGTH THREADS
"""

import json
import sys

import numpy as np
import onnxruntime
import pyarrow as pa
import pyarrow.parquet as pq
import tokenizers
from pyarrow import csv

from benchmarks.harness.stopwatch import start_watch

BATCH = 32


def main() -> None:
    """Prints the seconds."""
    checkpoint, model, table, out, max_length, threads = sys.argv[1:]
    watch = start_watch()
    tokenizer = tokenizers.Tokenizer.from_file(f"{checkpoint}/tokenizer.json")
    tokenizer.enable_truncation(int(max_length))
    tokenizer.enable_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = int(threads)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = {given.name for given in session.get_inputs()}
    rows = csv.read_csv(table)
    texts, vectors = rows["text"].to_pylist(), []
    for first in range(0, len(texts), BATCH):
        encodings = tokenizer.encode_batch(texts[first : first + BATCH])
        inputs = {
            "token_ids": np.array([encoding.ids for encoding in encodings], "int32"),
            "segment_ids": np.array([encoding.type_ids for encoding in encodings], "int32"),
            "padding_mask": np.array([encoding.attention_mask for encoding in encodings], "int32"),
        }
        vectors.extend(session.run(None, {name: inputs[name] for name in names})[0])
    pq.write_table(rows.append_column("vector", pa.array(vectors, pa.list_(pa.float32(), len(vectors[0])))), out)
    versions = f"onnxruntime {onnxruntime.__version__}, tokenizers {tokenizers.__version__}"
    print(json.dumps({**watch(), "versions": versions}))


if __name__ == "__main__":
    main()
