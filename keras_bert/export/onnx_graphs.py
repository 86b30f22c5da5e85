"""Orders and names the nodes of an ONNX graph, finds the values that they use, and adds constants."""

import copy
from collections import Counter
from typing import Any


def make_canonical(graph: Any) -> None:
    """Sorts nodes and weights by their use, and renames them: tf2onnx's order and names change from run to run."""
    _number(graph, {value.name: value.name for value in (*graph.input, *graph.output)}, "")
    for value in (*graph.input, *graph.output):
        for dimension, name in zip(value.type.tensor_type.shape.dim, ("batch", "length"), strict=False):
            if not dimension.dim_value:
                dimension.dim_param = name


def _number(graph: Any, outer: dict[str, str], mark: str) -> None:
    """Sorts a graph and the graphs inside its nodes; new names begin with `mark`. `outer`: old names -> new names."""
    graph.doc_string = ""
    nodes = _in_order_of_use(graph)
    weights = {weight.name: weight for weight in graph.initializer}
    names = dict(outer)
    used: list[Any] = []
    for number, node in enumerate(nodes):
        for name in read_by(node):
            if name in weights and name not in names:
                names[name] = f"{mark}weight_{len(used)}"
                used.append(weights[name])
        for place, name in enumerate(node.output):
            names.setdefault(name, f"{mark}{node.op_type}_{number}_{place}")
        node.name = f"{mark}{node.op_type}_{number}"
        node.input[:] = [names[name] if name else "" for name in node.input]
        node.output[:] = [names[name] if name else "" for name in node.output]
        attributes = sorted(node.attribute, key=lambda attribute: attribute.name)
        node.ClearField("attribute")
        node.attribute.extend(attributes)
        for attribute, inner in graphs_in(node).items():
            inner.name = f"{node.name}_{attribute}"
            _number(inner, names, f"{inner.name}_")
            for value in inner.output:
                # The outer node defines their shapes; here the names of unknown sizes are random.
                value.type.tensor_type.ClearField("shape")
    for weight in used:
        weight.name = names[weight.name]
    for value in graph.output:
        value.name = names[value.name]
    for field, content in (("node", nodes), ("initializer", used), ("value_info", [])):
        graph.ClearField(field)
        getattr(graph, field).extend(content)


class OnnxGraphWriter:
    """The base class of what rewrites a graph: its constants by name, and the node that makes each other value."""

    def __init__(self, graph: Any) -> None:
        from onnx import numpy_helper

        self._graph = graph
        self._values = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self._makers = {name: node for node in graph.node for name in node.output}

    def _constant(self, name: str, values: Any) -> str:
        """Adds a constant, unless it exists already; returns its name."""
        from onnx import numpy_helper

        if name not in self._values:
            self._values[name] = values
            self._graph.initializer.append(numpy_helper.from_array(values, name))
        return name


def graphs_in(node: Any) -> dict[str, Any]:
    """The graphs that are attributes of a node, by the attributes' names."""
    return {attribute.name: attribute.g for attribute in node.attribute if attribute.HasField("g")}


def read_by(node: Any) -> list[str]:
    """The names of a node's inputs, and of the outer values that the graphs inside it use."""
    names = list(node.input)
    for graph in graphs_in(node).values():
        made = {weight.name for weight in graph.initializer} | {name for node in graph.node for name in node.output}
        taken = [name for node in _in_order_of_use(graph) for name in read_by(node)]
        taken += [value.name for value in graph.output]
        names += [name for name in dict.fromkeys(taken) if name and name not in made]
    return names


def count_readers(graph: Any) -> Counter[str]:
    """Counts the nodes that use each value; a graph output counts as one more use."""
    read = [name for node in graph.node for name in read_by(node)]
    return Counter([*read, *(value.name for value in graph.output)])


def _in_order_of_use(graph: Any) -> list[Any]:
    """Copies of the nodes in topological order, without nodes that no output needs."""
    makers = {name: node for node in graph.node for name in node.output}
    ordered: list[Any] = []
    seen: set[str] = set()
    pending = [(value.name, False) for value in reversed(graph.output)]
    while pending:
        name, ready = pending.pop()
        node = makers.get(name)
        if node is None or (not ready and node.output[0] in seen):
            continue
        if ready:
            ordered.append(copy.deepcopy(node))
        else:
            seen.add(node.output[0])
            pending.append((name, True))
            pending.extend((needed, False) for needed in reversed(read_by(node)))
    return ordered
