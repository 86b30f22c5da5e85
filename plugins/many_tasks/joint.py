"""One Keras model of several tasks: the layers of their encoder once, and each head as a model inside."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import keras

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.compress.ranges import taps
from keras_bert.core.checks import check
from keras_bert.core.folders import LOGITS
from keras_bert.models.encoder import encoder_of, input_names, sequence_output
from keras_bert.tasks.base import Task

# Paths of layers are changed in one thread at a time.
_PATHS = threading.RLock()


def join_tasks(tasks: Mapping[str, Task]) -> keras.Model:
    """The model from the inputs of the encoder to the outputs of all tasks by name; all weights are shared.

    Raises:
        ValueError: the tasks have different encoders, a head has layers of the encoder inside, or a name is that of a
            layer of the encoder.
    """
    first = next(iter(tasks.values()))
    layers = {layer.name for layer in encoder_of(first.model).layers}
    outputs = {}
    for name, task in tasks.items():
        rule = "differ from the names of the encoder's layers"
        check("ManyTasks", f"tasks[{name!r}]", name not in layers, rule, name)
        has_same = _layers_of(task) == _layers_of(first)
        rule = "be built on the encoder of the other tasks, as Kind.build(base.encoder, base.tokenizer, ...)"
        check("ManyTasks", f"tasks[{name!r}]", has_same, rule, f"a {task.name} on another encoder")
        outputs[name] = _cut_head(task, name)
    inputs = {name: first.model.get_layer(name).output for name in input_names(first.model)}
    model = keras.Model(inputs, outputs, name="many_tasks")
    layers_of_heads = [id(layer) for head in heads_of(model) for layer in head._flatten_layers(include_self=False)]
    rule = "have heads of their own; build each with projections and layers that no other task has"
    check("ManyTasks", "tasks", len(set(layers_of_heads)) == len(layers_of_heads), rule, "a layer of two tasks")
    return model


def _layers_of(task: Task) -> set[int]:
    """The layers of a task's encoder, without a pooler, which not every task reads."""
    return {id(layer) for layer in encoder_of(task.model).layers if layer.name != "pooler"}


def _cut_head(task: Task, name: str) -> Any:
    """The output of a task, symbolic, with what follows the encoder as a model of this name."""
    network, encoder = task.network(), encoder_of(task.model)
    layers = {id(layer) for layer in encoder.layers}
    inside = {id(node) for node in _nodes(encoder)}
    ends = {id(tensor) for node in _nodes(encoder) for tensor in node.output_tensors}
    head = [node for node in _nodes(network) if id(node) not in inside and not node.is_input]
    reused = sorted({node.operation.name for node in head if id(node.operation) in layers})
    check("ManyTasks", f"tasks[{name!r}]", not reused, "have a head without layers of the encoder", reused)
    if not head:  # vectors that the encoder's pooler gives
        return keras.layers.Identity(name=name)(network.outputs[0])
    read = {id(tensor): tensor for node in head for tensor in node.input_tensors if id(tensor) in ends}
    # The layers are called again rather than the graph cut, which would give the inputs of the encoder other nodes.
    made: dict[int, Any] = {
        key: keras.Input(batch_shape=tensor.shape, dtype=tensor.dtype, name=f"{name}_{place}")
        for place, (key, tensor) in enumerate(read.items())
    }
    inputs = list(made.values())
    for node in head:
        arguments, options = node.arguments.fill_in(made)
        outputs = keras.tree.flatten(node.operation(*arguments, **options))
        made |= {id(tensor): output for tensor, output in zip(node.output_tensors, outputs, strict=True)}
    return keras.Model(inputs, made[id(network.outputs[0])], name=name)(list(read.values()))


def _nodes(model: keras.Model) -> list[Any]:
    """The calls of layers in the graph of a model, first to last."""
    return [node for depth in sorted(model._nodes_by_depth, reverse=True) for node in model._nodes_by_depth[depth]]


def take_part(model: keras.Model, name: str) -> Any:
    """The output of a task in a joint model, symbolic, with the layers of its head in the graph of the encoder."""
    head = model.get_layer(name)
    node = next(node for node in _nodes(model) if node.operation is head)
    if not isinstance(head, keras.Model):
        return node.output_tensors[0]
    return head.call(list(node.input_tensors))


def part_of(model: keras.Model, name: str, output_name: str) -> keras.Model:
    """The model of one task, as its class builds it: one output, or the states of the encoder and a named output."""
    output = take_part(model, name)
    inputs = {key: model.get_layer(key).output for key in input_names(model)}
    outputs = output
    if output_name != LOGITS:
        outputs = {"sequence_output": sequence_output(encoder_of(model)), output_name: output}
    return keras.Model(inputs, outputs, name=name)


@contextlib.contextmanager
def named_apart(model: keras.Model) -> Iterator[None]:
    """Inside of the block, the paths of a joint model's heads start with the name of the task, such as `mood/head`.

    Two tasks may have heads with equal paths; quantization and pruning know layers by their paths. Other threads wait.
    """
    with _PATHS:
        parts: list[tuple[Any, str]] = []
        for head in heads_of(model):
            for part in (*head._flatten_layers(include_self=False), *head.weights):
                parts.append((part, part._path))
                part._path = f"{head.name}/{part._path}"
        try:
            yield
        finally:
            for part, path in parts:
                part._path = path


def heads_of(model: keras.Model) -> list[keras.Model]:
    """The heads inside of a joint model."""
    return [layer for layer in model.layers if isinstance(layer, keras.Model)]


def quantization_of(task: Task, name: str, joint: QuantizationParameters) -> QuantizationParameters:
    """The recipe and ranges of one task of a joint model, by the paths of its layers outside of `named_apart`."""
    start, ranges = f"{name}/", {}
    for path in taps(task.network()):
        plain = path.removeprefix(start)
        span = joint.ranges.get(plain, joint.ranges.get(start + plain))
        if span is not None:
            ranges[plain] = span
    encoder_layers = {layer.path for layer in encoder_of(task.model)._flatten_layers(include_self=False)}
    layers = tuple(
        path.removeprefix(start) for path in joint.float_layers if path.startswith(start) or path in encoder_layers
    )
    return QuantizationParameters(joint.recipe, ranges, layers)
