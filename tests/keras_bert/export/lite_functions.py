"""Small functions as files for LiteRT: what they answer, and their operations."""

import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

from keras_bert.export.rules.lite_graphs import read_graphs
from keras_bert.export.sharing import read_model, write_model


def convert(function, shape, kind=tf.float32, **options):
    """The bytes of a file that computes a function of one tensor."""
    serve = tf.function(function, input_signature=[tf.TensorSpec(shape, kind)], autograph=False)
    converter = tf.lite.TFLiteConverter.from_concrete_functions([serve.get_concrete_function()])
    for name, value in options.items():
        setattr(converter, name, value)
    return converter.convert()


def answer(content, given, *, delegates=True):
    resolver = OpResolverType.AUTO if delegates else OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    interpreter = Interpreter(model_content=content, experimental_op_resolver_type=resolver)
    interpreter.allocate_tensors()
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], given)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])


def rewritten(content, change):
    """The file after a pass over its graphs."""
    model = read_model(content)
    change(model)
    return write_model(model)


def graph_of(content, folder):
    (folder / "model.tflite").write_bytes(content)
    return read_graphs(folder / "model.tflite")[0]


def kinds_of(content, folder):
    return [operation.kind for operation in graph_of(content, folder).operations]
