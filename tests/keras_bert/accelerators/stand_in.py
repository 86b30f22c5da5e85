"""Accelerators of a plug-in, which stand in for those that may not be installed."""

from importlib.metadata import EntryPoint

from keras_bert.accelerators.base import Accelerator, AcceleratorError


class Chip(Accelerator):
    """A chip whose compiler is a part of the test."""

    chips, usual = ("maker/chip", "maker/other"), ("maker/chip",)
    package, installation = "chip_compiler", "pip install chip-compiler"
    takes_onnx = True

    def find_obstacle(self):
        return None

    def compile(self, file, folder, largest_id):
        raise AcceleratorError(f"{self.name} refuses {file.name}")


class Engine(Chip):
    """An engine that must run a file whole, and that does not take every recipe."""

    chips = usual = ("engine",)
    recipes = (None, "mixed_wi8_ai8", "weights_wi4", "float16")
    runs_whole, takes_onnx = True, False


class MissingChip(Chip):
    """A chip whose compiler is not installed."""

    chips = usual = ("missing",)

    def find_obstacle(self):
        return Accelerator.find_obstacle(self)


ENTRY_POINTS = {
    kind.__name__: EntryPoint(kind.__name__, f"{__name__}:{kind.__name__}", "keras_bert_edge.accelerators")
    for kind in (Chip, Engine, MissingChip)
}
