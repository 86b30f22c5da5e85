"""Asks a pushed folder by the protocol of TensorFlow Serving; run by the environment of the servers.

    python ask_tensorflow.py FOLDER < QUESTIONS.json

Questions are a list of [signature, {input: texts}]. The answers are JSON: outputs by name.
"""

import json
import sys
from pathlib import Path


def ask_tensorflow(folder, questions):
    """Answers by the protocol of TensorFlow Serving: a `PredictRequest` for each question, in a session."""
    import tensorflow as tf
    import tensorflow_text  # noqa: F401, registers its operations; TensorFlow Serving has them
    from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
    from tensorflow_serving.apis.predict_pb2 import PredictRequest, PredictResponse

    answers = []
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        graph = tf.compat.v1.saved_model.load(session, ["serve"], str(folder))
        metadata = SignatureDefMap(signature_def=dict(graph.signature_def))
        for name, inputs in questions:
            request = PredictRequest()
            request.model_spec.signature_name = name
            for key, texts in inputs.items():
                request.inputs[key].CopyFrom(tf.make_tensor_proto(texts))
            signature = metadata.signature_def[request.model_spec.signature_name]
            given = {signature.inputs[key].name: tf.make_ndarray(value) for key, value in request.inputs.items()}
            outputs = session.run({key: entry.name for key, entry in signature.outputs.items()}, given)
            response = PredictResponse()
            for key, value in outputs.items():
                response.outputs[key].CopyFrom(tf.make_tensor_proto(value))
            answers.append({key: tf.make_ndarray(value).tolist() for key, value in response.outputs.items()})
    return answers


def main():
    """Prints the answers."""
    answers = ask_tensorflow(Path(sys.argv[1]), json.load(sys.stdin))
    json.dump(answers, sys.stdout, default=lambda value: value.decode())


if __name__ == "__main__":
    main()
