import keras_bert  # noqa: F401, before ONNX Runtime, whose reports of use it switches off
