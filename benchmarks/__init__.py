"""Speed, ours and the peers' side by side, from one run."""

import keras_bert  # noqa: F401, before peers and ONNX Runtime, whose reports of use it switches off
