"""Reads an `.mlpackage`: as a model that answers, and what its metadata says."""

import json
from pathlib import Path
from typing import Any

from keras_bert.export.files import count_bytes, count_download_bytes
from keras_bert.export.runtimes import LENGTH, SIGNATURE, FixedLengthModel
from plugins.coreml.mil import count_operations, read_functions, read_specification

_IN_METADATA = ("max_length", "labels", "thresholds", "lengths")


class CoreMLModel(FixedLengthModel):
    """Runs an `.mlpackage`, given its `model.mlmodel`, in an interpreter: Core ML itself only runs on Apple systems."""

    name = "an interpreter of Core ML's operations"

    def __init__(self, file: Path) -> None:
        functions = {
            int(match[1]): function
            for name, function in read_functions(file).items()
            if (match := LENGTH.fullmatch(name))
        }
        if not functions:
            raise ValueError(f"{file} must have functions named {SIGNATURE}, found none")
        longest = functions[max(functions)]
        super().__init__(functions, longest.inputs, longest.outputs)


def read_metadata(package: Path, file: Path) -> dict[str, Any]:
    """What `describe` shows of a package, whose graph is in a file."""
    try:
        held = dict(read_specification(file).description.metadata.userDefined)
        settings = {name: json.loads(held[name]) for name in _IN_METADATA if name in held}
        task = {**settings, "task": held["task"], "max_length": settings["max_length"]}
        export = {"lengths": settings["lengths"]}
        operations = count_operations(file)
    except (KeyError, ValueError, StopIteration) as error:
        raise ValueError(f"{package} must be an .mlpackage that was exported here: {error}") from None
    sizes = {"bytes": count_bytes(file), "download_bytes": count_download_bytes(file)}
    return {"file": package.name, **sizes, "task": task, "export": export, "operations": operations}
