"""Which operations of each recipe's `.tflite` file the delegates of phones take, by their published lists.

    python -m benchmarks.delegates

Prints a table in Markdown, and what each delegate leaves. The model is tiny and untrained: the kinds of operations do
not depend on sizes. Nothing is measured.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.instructions import export
from benchmarks.table import print_table
from keras_bert.core.config import EncoderConfig
from keras_bert.export.delegates import Coverage, check_delegates
from keras_bert.options.quantization import RECIPES

_CONFIG = EncoderConfig(
    vocabulary_size=30522, hidden_size=32, num_layers=2, num_heads=2, intermediate_size=64, max_length=128
)


def main() -> None:
    """Prints the operations of a model of two layers that each delegate takes, by recipe."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    rows, left = [], []
    with tempfile.TemporaryDirectory() as folder:
        for recipe in (None, *RECIPES):
            coverages = check_delegates(export(_CONFIG, recipe, Path(folder) / "model.tflite"))
            name = recipe or "float32"
            rows.append({"recipe": f"`{name}`", **{key: _share(coverage) for key, coverage in coverages.items()}})
            for key, coverage in coverages.items():
                left += [f"\n{name}, {key}:", *(f"  {count} {reason}" for reason, count in coverage.left.items())]
    print_table(rows)
    print(*left, sep="\n")


def _share(coverage: Coverage) -> str:
    taken = sum(coverage.taken.values())
    return f"{taken} of {coverage.operations}, in {coverage.partitions}"


if __name__ == "__main__":
    main()
