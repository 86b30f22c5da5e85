"""`create_pretraining_data.py` of google-research/bert, under the TensorFlow of this environment.

    python -m benchmarks.peers.google_bert CHECKOUT --input_file=... --output_file=... --vocab_file=...

The code is of TensorFlow 1: `tensorflow.compat.v1` stands in for `tensorflow`. The last line printed is JSON: the
seconds from the call of its `main` to the end, without imports, those of the processor, and the megabytes that the
imports took.
"""

import importlib
import json
import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from benchmarks.harness.processes import Watched, tree_memory, watch
from components.text.sentences import split_sentences


def create(
    checkout: Path,
    text: Path,
    vocabulary: Path,
    output: Path,
    *,
    length: int = 128,
    predictions: int = 20,
    short_share: float = 0.1,
    duplication: int = 1,
    seed: int = 12345,
) -> Watched:
    """Runs that of a checkout, on a text of `write_text`, in a process of its own.

    A vocabulary has a piece a line; one of a cased model has `-cased` in its name.
    """
    flags = {
        "input_file": text,
        "output_file": output,
        "vocab_file": vocabulary,
        "do_lower_case": "-cased" not in vocabulary.name,
        "max_seq_length": length,
        "max_predictions_per_seq": predictions,
        "short_seq_prob": short_share,
        "dupe_factor": duplication,
        "random_seed": seed,
    }
    return watch(__name__, [str(checkout), *(f"--{name}={value}" for name, value in flags.items())])


def write_text(documents: Iterable[str], path: Path) -> None:
    """Writes documents as it reads them: our sentences, one a line, and a blank line between documents."""
    path.write_text("\n\n".join("\n".join(split_sentences(text)) for text in documents) + "\n")


def main() -> None:
    """Runs it in this process."""
    checkout, *flags = sys.argv[1:]
    import tensorflow.compat.v1 as tensorflow_1

    sys.modules["tensorflow"] = tensorflow_1
    sys.path.insert(0, checkout)
    module = importlib.import_module("create_pretraining_data")
    module.FLAGS(["create_pretraining_data.py", *flags])
    idle = tree_memory(os.getpid())
    began, cpu = time.perf_counter(), time.process_time()
    module.main(None)
    cpu = time.process_time() - cpu
    print(json.dumps({"seconds": time.perf_counter() - began, "cpu": cpu, "idle": idle}))


if __name__ == "__main__":
    main()
