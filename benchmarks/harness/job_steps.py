"""Milliseconds of a training step of a job's classifier with full rows, the median of some; `benchmarks.table --steps`.

python -m benchmarks.harness.job_steps TABLES
"""

import json
import statistics
import sys
import time

import numpy as np

from keras_bert.interop.hugging_face import from_hugging_face
from keras_bert.training.step import TrainingStep
from pipeline.job.files import make_settings

STEPS, WARM = 12, 3


def main() -> None:
    """Prints a line of JSON; the memory of this process is measured from outside."""
    settings = make_settings(json.loads(sys.argv[1]))
    length, training = settings.max_length, settings.fine_tuning
    assert settings.checkpoint is not None
    new_head = {"labels": ["no", "yes"], "max_length": length, "pooling": settings.pooling or "mean"}
    task = from_hugging_face(settings.checkpoint.folder(), "classification", **new_head)
    if settings.adaptation is not None:
        task.adapt(settings.adaptation)
    step = TrainingStep(task.network(), task.objective(), training, 1000)
    ids = np.random.default_rng(0).integers(1000, task.tokenizer.vocabulary_size, (training.batch_size, length))
    ids = ids.astype("int32")
    batch = {"token_ids": ids, "segment_ids": 0 * ids, "padding_mask": 0 * ids + 1, "label": ids[:, 0] % 2}
    seconds = []
    for number in range(STEPS):
        began = time.perf_counter()
        _, norm = step.step([batch], number + 1)
        float(norm)
        seconds.append(time.perf_counter() - began)
    print(json.dumps({"ms": 1000 * statistics.median(seconds[WARM:])}))


if __name__ == "__main__":
    main()
