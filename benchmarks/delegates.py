"""Which operations of each recipe's `.tflite` file the delegates of phones take, by their published lists.

    python -m benchmarks.delegates

Prints a table in Markdown, and what each delegate leaves. The model is tiny and untrained: the kinds of operations do
not depend on sizes. Nothing is measured.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.instructions import export
from keras_bert.core.config import EncoderConfig
from keras_bert.export.delegates import Coverage, check_delegates
from keras_bert.export.supported_operations import DELEGATES
from keras_bert.options.quantization import RECIPES, RecipeName

_CONFIG = EncoderConfig(
    vocabulary_size=30522, hidden_size=32, num_layers=2, num_heads=2, intermediate_size=64, max_length=128
)


def main() -> None:
    """Prints the operations of a model of two layers that each delegate takes, by recipe."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    names = [delegate.name for delegate in DELEGATES]
    recipes: tuple[RecipeName | None, ...] = (None, *RECIPES)
    coverages: dict[str, dict[str, Coverage]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for recipe in recipes:
            file = export(_CONFIG, recipe, Path(folder) / "model.tflite")
            coverages[recipe or "float32"] = check_delegates(file)
    print("|".join(("", " recipe ", *(f" {name} " for name in names), "")))
    print("|" + " --- |" * (len(names) + 1))
    for recipe_name, by_delegate in coverages.items():
        print("|".join(("", f" `{recipe_name}` ", *(f" {_share(by_delegate[name])} " for name in names), "")))
    for recipe_name, by_delegate in coverages.items():
        for name in names:
            print(f"\n{recipe_name}, {name}:")
            print("\n".join(f"  {count} {reason}" for reason, count in by_delegate[name].left.items()))


def _share(coverage: Coverage) -> str:
    taken = sum(coverage.taken.values())
    return f"{taken} of {coverage.operations}, in {coverage.partitions}"


if __name__ == "__main__":
    main()
