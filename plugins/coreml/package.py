"""Exports a Keras model as an `.mlpackage` for Core ML, with a function for each length, by coremltools."""

import json
import shutil
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from keras_bert.compress.quantization_parameters import QuantizationParameters
from keras_bert.core.folders import LOGITS, temporary_folder
from keras_bert.export.runtimes import SIGNATURE
from keras_bert.models.encoder import input_names
from keras_bert.models.first_token import skip_unused_tokens
from keras_bert.options.quantization import RECIPES, Recipe
from plugins.coreml.mil import read_specification, silenced
from plugins.coreml.target import COREML_FILE, COREML_FOLDER

_FUSION = "keras_bert::LayerNormFusion"
# Squares of states can exceed float16, and a sum that is divided by is rounded once.
_FLOAT32_OPERATIONS = ("square", "rsqrt", "sqrt", "reduce_l2_norm", "reduce_sum_square")
# Smaller tensors, as normalizations have, stay float16.
_LEAST_SIZE = 1024
_MOST_OFF_GRID = 0.25


def export_coreml(
    model: keras.Model,
    folder: Path,
    lengths: Sequence[int],
    quantization: QuantizationParameters | None = None,
    *,
    output: str = LOGITS,
    description: str = "",
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes a model with one output as `model.mlpackage` in a folder, with a function for one row of each length.

    The functions `serve_32`, `serve_64`, ... share their weights; the longest is the default one. Their inputs are
    int32 (1, length), the output is float32, and they compute in float16. Weights keep the numbers of the model's
    recipe: int8 with a scale for each unit, palettes of 16 numbers for each unit, or int4 with a scale for each block.
    Tables are int8 with a scale for each row. Functions need iOS 18 or macOS 15.

    A quantized model is one that `QuantizationAware.finish` left, with its recipe. `metadata` are texts by name for
    apps, which read them as `MLModelMetadataKey.creatorDefinedKey`.
    """
    network = skip_unused_tokens(model)
    with temporary_folder() as made, silenced():
        import coremltools as ct

        functions = ct.utils.MultiFunctionDescriptor()
        for length in sorted(lengths):
            package = f"{made}/{length}.mlpackage"
            _compress(_convert(network, length), quantization).save(package)
            functions.add_function(package, "main", SIGNATURE.format(length=length))
        functions.default_function_name = SIGNATURE.format(length=max(lengths))
        ct.utils.save_multifunction(functions, f"{made}/{COREML_FOLDER}")
        _complete(Path(made) / COREML_FILE, output, description, metadata or {})
        shutil.copytree(f"{made}/{COREML_FOLDER}", folder / COREML_FOLDER, copy_function=shutil.copyfile)


def _convert(network: keras.Model, length: int) -> Any:
    """A program for one row of a length, as a `coremltools.models.MLModel`."""
    import coremltools as ct

    specs = {name: tf.TensorSpec((1, length), tf.int32, name=name) for name in input_names(network)}

    @tf.function(input_signature=list(specs.values()), autograph=False)
    def serve(*inputs: tf.Tensor) -> tf.Tensor:
        return network(dict(zip(specs, inputs, strict=True)), training=False)

    _register_fusion()
    passes = ct.PassPipeline()
    passes.insert_pass(passes.passes.index("common::fuse_layernorm_or_instancenorm"), _FUSION)
    return ct.convert(
        [serve.get_concrete_function()],
        source="tensorflow",
        convert_to="mlprogram",
        inputs=[ct.TensorType(name=name, shape=(1, length), dtype=np.int32) for name in specs],
        outputs=[ct.TensorType(name="Identity", dtype=np.float32)],
        compute_precision=ct.transform.FP16ComputePrecision(lambda op: op.op_type not in _FLOAT32_OPERATIONS),
        minimum_deployment_target=ct.target.iOS18,
        pass_pipeline=passes,
        skip_model_load=True,
    )


def _compress(converted: Any, quantization: QuantizationParameters | None) -> Any:
    """The program with weights in the numbers of a recipe."""
    from coremltools.optimize import coreml as cto

    if quantization is None or not RECIPES[quantization.recipe].integers:
        return converted
    recipe = RECIPES[quantization.recipe]
    kept = {
        name: None
        for name, weight in cto.get_weights_metadata(converted, weight_threshold=_LEAST_SIZE).items()
        if all(child.op_type != "gather" for child in weight.child_ops) and not _is_on_grid(weight.val, recipe)
    }
    integers = cto.OpLinearQuantizerConfig(mode="linear_symmetric", weight_threshold=_LEAST_SIZE)
    if recipe.weight_bits == 8:
        return cto.linear_quantize_weights(converted, cto.OptimizationConfig(integers, op_name_configs=kept))
    if recipe.block is None:
        # On a grid, each unit has at most 16 numbers.
        kernels = cto.OpPalettizerConfig(
            mode="unique", granularity="per_grouped_channel", group_size=1, weight_threshold=_LEAST_SIZE
        )
        compress = cto.palettize_weights
    else:
        kernels = cto.OpLinearQuantizerConfig(
            mode="linear_symmetric",
            dtype="int4",
            granularity="per_block",
            block_size=recipe.block,
            weight_threshold=_LEAST_SIZE,
        )
        compress = cto.linear_quantize_weights
    converted = compress(converted, cto.OptimizationConfig(kernels, {"gather": None}, kept))
    return cto.linear_quantize_weights(converted, cto.OptimizationConfig(None, {"gather": integers}))


def _is_on_grid(weight: np.ndarray[Any, Any], recipe: Recipe) -> bool:
    """True if a weight (units, inputs), or (inputs, units), is on the grid of a recipe; others stay float."""
    largest = 2 ** (recipe.weight_bits - 1) - 1
    for kernel in (weight, weight.T) if weight.ndim == 2 else ():
        blocks = kernel.astype(np.float32)
        if recipe.block is not None and kernel.shape[1] % recipe.block == 0:
            blocks = blocks.reshape(-1, recipe.block)
        steps = blocks / np.maximum(np.abs(blocks).max(axis=1, keepdims=True) / largest, np.finfo(np.float32).tiny)
        # Float16 rounds 127 steps by up to 0.06, and the step itself, a share of the largest number, by as much.
        if np.abs(steps - np.round(steps)).max() < _MOST_OFF_GRID:
            return True
    return False


def _complete(file: Path, output: str, description: str, metadata: Mapping[str, str]) -> None:
    """Names the output, and writes the metadata; without dates and random names, equal models give equal bytes."""
    specification = read_specification(file)
    for function in specification.mlProgram.functions.values():
        block = function.block_specializations[function.opset]
        (old,) = block.outputs
        block.outputs[0] = output
        for operation in block.operations:
            for result in operation.outputs:
                result.name = output if result.name == old else result.name
    for function in specification.description.functions:
        function.output[0].name = output
    held = specification.description.metadata
    held.shortDescription, held.author = description, "keras-bert-edge"
    held.userDefined.pop("com.github.apple.coremltools.conversion_date", None)
    held.userDefined.update(metadata)
    file.write_bytes(specification.SerializeToString(deterministic=True))
    manifest = file.parents[2] / "Manifest.json"
    content = json.loads(manifest.read_text(encoding="utf-8"))
    items = {
        str(uuid.uuid5(uuid.NAMESPACE_URL, item["path"])): item
        for item in sorted(content["itemInfoEntries"].values(), key=lambda item: item["path"])
    }
    (root,) = (name for name, item in items.items() if item["path"].endswith(file.name))
    content.update(itemInfoEntries=items, rootModelIdentifier=root)
    manifest.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _register_fusion() -> None:
    """Makes a normalization of Keras one operation, `layer_norm`: in float16 its epsilon of 1e-12 would be 0.

    coremltools' own pass only knows the normalization of older versions of Keras.
    """
    from coremltools.converters.mil.mil import Builder
    from coremltools.converters.mil.mil.passes.graph_pass import AbstractGraphPass
    from coremltools.converters.mil.mil.passes.pass_registry import PASS_REGISTRY, register_pass

    if _FUSION in PASS_REGISTRY:
        return

    @register_pass(namespace=_FUSION.partition("::")[0])
    class LayerNormFusion(AbstractGraphPass):
        def apply(self, prog: Any) -> None:
            for function in prog.functions.values():
                for operation in list(function.operations):
                    if operation.op_type == "rsqrt" and (norm := _match_norm(operation)) is not None:
                        last, arguments = norm
                        with function:
                            made = Builder.layer_norm(**arguments, axes=[-1], name=last.name, before_op=last)
                        function.replace_uses_of_var_after_op(
                            anchor_op=last, old_var=last.outputs[0], new_var=made, no_check_var_types=True
                        )


def _match_norm(rsqrt: Any) -> tuple[Any, dict[str, Any]] | None:
    """The last operation and the arguments of the normalization that an operation is a part of; None for others.

    `x * inverse + (-mean * inverse + beta)`, with `inverse = rsqrt(mean(square(x - mean)) + epsilon) * gamma`, as
    `keras.ops.layer_normalization` has it.
    """
    try:
        added = rsqrt.x.op
        square = added.x.op.x.op
        centred = square.x.op
        x, mean = centred.x, centred.y
        kinds = [added.op_type, added.x.op.op_type, square.op_type, centred.op_type, mean.op.op_type]
        if kinds != ["add", "reduce_mean", "square", "sub", "reduce_mean"] or mean.op.x is not x:
            return None
        inverse, gamma = rsqrt.outputs[0], None
        if len(inverse.child_ops) == 1:
            (scaled,) = inverse.child_ops
            gamma = (scaled.y if scaled.x is inverse else scaled.x).val
            inverse = scaled.outputs[0]
        (product,) = (op for op in inverse.child_ops if any(side is x for side in (op.x, op.y)))
        (last,) = product.outputs[0].child_ops
        rest = last.y if last.x is product.outputs[0] else last.x
        beta = None
        if inverse not in (rest.op.x, rest.op.y):
            side, shift = (rest.op.x, rest.op.y) if rest.op.y.val is not None else (rest.op.y, rest.op.x)
            beta, rest = shift.val, side
        if inverse not in (rest.op.x, rest.op.y) or last.op_type != "add" or rest.op.op_type != "mul":
            return None
    except (AttributeError, ValueError):
        return None
    constants = {
        name: value.reshape(-1).astype(np.float32)
        for name, value in (("gamma", gamma), ("beta", beta))
        if value is not None
    }
    return last, {"x": x, "epsilon": added.y.val, **constants}
