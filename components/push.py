"""Push: a blessed model into a numbered folder, all of it or nothing."""

import json
import shutil
from pathlib import Path

from components.artifacts.blessing import Blessing
from components.artifacts.edge_model import EdgeModel
from components.artifacts.evaluation import Evaluation
from components.artifacts.pushed import Pushed
from components.dsl.artifact import sync
from components.dsl.component import component
from components.dsl.errors import Refusal
from components.dsl.signature import Input, Output
from components.scoring.model_card import write_model_card
from components.training.model_folder import TOKENIZER_FILES

EDGE_FILES = ("model.tflite", "model.onnx", "labels.json", "recipe.json", *TOKENIZER_FILES)


@component()
def push(
    edge: Input[EdgeModel],
    evaluation: Input[Evaluation],
    blessing: Input[Blessing],
    pushed: Output[Pushed],
    folder: str,
    name: str,
) -> None:
    """Copies a blessed model into the next numbered folder of `folder`.

    Args:
        edge: the exported files.
        evaluation: goes along as `metrics.json` and into the model card.
        blessing: what decides.
        pushed: where the model went.
        folder: holds one folder a version: 1, 2, 3, ...
        name: of the model, for its card.

    Raises:
        Refusal: the model is not blessed.
    """
    decision = json.loads(blessing.file("blessing.json").read_text())
    if not decision["blessed"]:
        failed = [reason for reason in decision["reasons"] if reason.startswith("NO")]
        raise Refusal("not pushed, because it was not blessed: " + "; ".join(failed))
    target = Path(folder).absolute()
    target.mkdir(parents=True, exist_ok=True)
    version = newest_version(target, edge.fingerprint()) or place_version(target, edge, evaluation, name)
    place = target / str(version)
    content = {"path": str(place), "version": version, "files": sorted(file.name for file in place.iterdir())}
    pushed.file("pushed.json").write_text(json.dumps(content, indent=1) + "\n")
    pushed.counts = {"version": version}


def newest_version(folder: Path, fingerprint: str) -> int | None:
    """The newest version, if it holds this model: a push that was cut off after the copy must not copy it again."""
    version = max(list_versions(folder), default=0)
    origin = folder / str(version) / "origin.json"
    if not origin.is_file():
        return None
    return version if json.loads(origin.read_text())["edge_model"] == fingerprint else None


def list_versions(folder: Path) -> list[int]:
    """The numbered folders, lowest first."""
    return sorted(int(entry.name) for entry in folder.iterdir() if entry.name.isdecimal() and entry.is_dir())


def place_version(folder: Path, edge: EdgeModel, evaluation: Evaluation, name: str) -> int:
    """Copies the files aside, then renames them into place as the next version, and returns its number."""
    version = max(list_versions(folder), default=0) + 1
    staging = folder / f".staging-{version}"
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        for file in EDGE_FILES:
            shutil.copyfile(edge.file(file), staging / file)
        shutil.copyfile(evaluation.file("metrics.json"), staging / "metrics.json")
        origin = {"edge_model": edge.fingerprint(), "evaluation": evaluation.fingerprint()}
        (staging / "origin.json").write_text(json.dumps(origin, indent=1) + "\n")
        write_model_card(staging, name, version)
        for path in (*staging.iterdir(), staging):
            sync(path)
        staging.rename(folder / str(version))
        sync(folder)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return version
