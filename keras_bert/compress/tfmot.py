"""The parts of TensorFlow's model optimization toolkit that need no Keras."""

import os

# Importing it sets TF_USE_LEGACY_KERAS, which would switch the whole process to Keras 2.
_legacy_keras = os.environ.get("TF_USE_LEGACY_KERAS")
from tensorflow_model_optimization.python.core.quantization.keras import quantizers  # noqa: E402
from tensorflow_model_optimization.python.core.sparsity.keras import pruning_schedule, pruning_utils  # noqa: E402

os.environ.pop("TF_USE_LEGACY_KERAS", None)
if _legacy_keras is not None:
    os.environ["TF_USE_LEGACY_KERAS"] = _legacy_keras

__all__ = ["pruning_schedule", "pruning_utils", "quantizers"]
