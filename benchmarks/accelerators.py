"""What the compilers and engines of accelerators take of each family and recipe.

    python -m benchmarks.accelerators --families bert deberta --chips gpu ethos-u85-256

Prints a table in Markdown, and the reasons of what is left or refused. The models are tiny and untrained: the kinds of
operations do not depend on sizes.
"""

import argparse
import dataclasses
import tempfile
from collections import defaultdict
from pathlib import Path

from benchmarks.harness.passages import LENGTHS, VOCABULARY
from benchmarks.instructions import export
from keras_bert.accelerators.base import AcceleratorError, Coverage
from keras_bert.accelerators.registry import find_accelerator, usual_chips
from keras_bert.core.config import EncoderConfig
from keras_bert.families.deberta.settings import DeBERTa
from keras_bert.families.mobilebert.settings import MobileBERT
from keras_bert.families.modernbert.settings import ModernBERT
from keras_bert.options.quantization import RECIPES, RecipeName

_BERT = EncoderConfig(
    vocabulary_size=VOCABULARY,
    hidden_size=64,
    num_layers=2,
    num_heads=2,
    intermediate_size=128,
    max_length=max(LENGTHS),
    activation="gelu_erf",
)
FAMILIES = {
    "bert": _BERT,
    "albert": dataclasses.replace(_BERT, embedding_size=32, shared_layers=True),
    "deberta": dataclasses.replace(_BERT, variant=DeBERTa(), num_segments=0),
    "modernbert": dataclasses.replace(_BERT, variant=ModernBERT(), num_segments=0),
    "mobilebert": dataclasses.replace(_BERT, variant=MobileBERT(), embedding_size=32, activation="relu"),
}


def main() -> None:
    """Prints the operations that each chip takes of each family, by recipe."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--chips", nargs="+", default=usual_chips())
    options = parser.parse_args()
    chips = [find_accelerator(chip) for chip in options.chips]
    reasons: dict[str, list[str]] = defaultdict(list)
    print("|".join(("", " family ", " recipe ", *(f" {chip.name} " for chip in chips), "")))
    print("|" + " --- |" * (len(chips) + 2))
    recipes: tuple[RecipeName | None, ...] = (None, *RECIPES)
    for family in options.families:
        for recipe in recipes:
            cells = []
            with tempfile.TemporaryDirectory() as folder:
                file = export(FAMILIES[family], recipe, Path(folder) / "model.tflite")
                for chip in chips:
                    if chip.recipes and recipe not in chip.recipes:
                        cells.append("-")
                        continue
                    try:
                        if obstacle := chip.find_obstacle():
                            raise SystemExit(obstacle)
                        with tempfile.TemporaryDirectory() as compiled:
                            coverage = chip.cover(file, Path(compiled), VOCABULARY - 1)
                    except AcceleratorError as error:
                        cells.append("refused")
                        reasons[str(error)].append(f"{family} {recipe or 'float32'}")
                        continue
                    cells.append(_describe(coverage))
                    for reason in coverage.left:
                        reasons[f"{chip.name} leaves {reason}"].append(f"{family} {recipe or 'float32'}")
            print("|".join(("", f" {family} ", f" `{recipe or 'float32'}` ", *(f" {cell} " for cell in cells), "")))
    print()
    for reason, files in reasons.items():
        print(f"- {reason}: {', '.join(files)}")


def _describe(coverage: Coverage) -> str:
    if coverage.taken == coverage.operations and coverage.parts == 1:
        return "all"
    parts = f", in {coverage.parts}" if coverage.parts > 1 else ""
    return f"{coverage.taken} of {coverage.operations}{parts}"


if __name__ == "__main__":
    main()
