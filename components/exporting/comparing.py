"""What each file says, beside what the model says."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from components.artifacts.edge_model import EdgeModel
from components.dsl.workplace import report_progress
from keras_bert.folders import (
    LOGITS,
    MEDIAPIPE_FILE,
    TEXT_FILE,
    TFLITE_FILE,
    TFLITE_FLOAT_FILE,
    WEB_HALF_FILE,
    WEB_INT8_FILE,
    WEB_STATIC_FILE,
)
from keras_bert.options.quantization import RECIPES

if TYPE_CHECKING:
    from keras_bert.compress.rounding import Rounding
    from keras_bert.tasks.base import Features, Task


def compare_files(
    task: "Task",
    rounding: "Rounding | None",
    features: "Features",
    edge: EdgeModel,
    files: Sequence[str],
    int8_agreement: float,
) -> dict[str, dict[str, Any]]:
    """Compares each file with the model, and the text file with the one that takes ids.

    Args:
        task: of a Keras model.
        rounding: see `write_files`.
        features: inputs of the model (rows, longest).
        edge: the files.
        files: their names.
        int8_agreement: see `export_model`.

    Returns:
        File -> what was measured of it, as plain values.

    Raises:
        ParityError: a file does not say what the model says.
    """
    import numpy as np
    from scipy.special import softmax

    from keras_bert.clients.golden import TEXTS
    from keras_bert.compress.rounding import rounded
    from keras_bert.export.check import UNTRAINED_AGREEMENT, check_agreement, check_parity, tolerance_of
    from keras_bert.export.reference import predict_as_padded
    from keras_bert.export.rules.lite_graphs import count_operations
    from keras_bert.export.runtimes import open_file
    from keras_bert.export.text import check_text

    network, mask = task.network(), features["padding_mask"]
    measured: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(files):
        report_progress(len(files) + number, 2 * len(files), f"comparing {name}")
        size = edge.file(name).stat().st_size
        if name == TEXT_FILE:
            # The same numbers as those of the file that is compared, of texts in the place of ids.
            like = edge.file(TFLITE_FLOAT_FILE if rounding is None else TFLITE_FILE)
            difference = check_text(task, edge.file(name), like, TEXTS)
            measured[name] = {"largest_difference": float(f"{difference:.1e}"), "bytes": size}
            continue
        runtime = open_file(edge.file(name), task.max_length)
        lengths = getattr(runtime, "lengths", mask.shape[1:])
        reference = predict_as_padded(network, features, lengths)
        answers = runtime.predict_on_batch(features)
        outputs = next(iter(answers.values())) if isinstance(answers, dict) else answers
        if name == MEDIAPIPE_FILE and task.output_name == LOGITS:
            # What it answers are shares.
            reference, outputs = (
                np.log(np.maximum(shares, 1e-30)) for shares in (softmax(reference, axis=-1), outputs)
            )
        if name in (TFLITE_FILE, MEDIAPIPE_FILE, WEB_STATIC_FILE) and rounding is not None:
            with rounded(network, rounding):
                wanted = predict_as_padded(network, features, lengths)
            kept = float(task.agreement(reference, wanted, mask).mean())
            # Of integers alone the file has grids inside of layers, too, of which Keras has no twin.
            alone = RECIPES[rounding.recipe].activations == "all"
            minimum = min(UNTRAINED_AGREEMENT if alone else int8_agreement, kept)
            agreed = check_agreement(name, task.agreement(wanted, outputs, mask), outputs, minimum)
            own = {
                "agreement_with_rounded_model": agreed,
                "agreement_with_float_model": float(task.agreement(reference, outputs, mask).mean()),
                "agreement_of_rounded_and_float_model": kept,
            }
        elif name == WEB_INT8_FILE:
            # Keras has no twin of its grids.
            agreed = check_agreement(name, task.agreement(reference, outputs, mask), outputs, UNTRAINED_AGREEMENT)
            own = {"agreement_with_float_model": agreed}
        else:
            tolerance = tolerance_of(reference, mask, half=name == WEB_HALF_FILE)
            difference = check_parity(name, reference, outputs, tolerance, mask)
            own = {"largest_difference": float(f"{difference:.1e}")}
        measured[name] = {**own, "bytes": size, "rows_compared": len(mask)}
        if name.endswith(".tflite"):
            measured[name]["operations"] = count_operations(edge.file(name))
    return measured
