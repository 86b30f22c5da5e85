"""Pushing: numbered folders, complete or not at all."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest

from components import push as push_module
from components.artifacts.evaluation import Blessing, Evaluation
from components.artifacts.pushed import Pushed
from components.artifacts.standard import EdgeModel, TaskExamples
from components.dsl.errors import Refusal
from components.push import ALWAYS_FILES, push
from components.sources.pushed_version import list_versions
from components.sources.search_texts import SearchTexts
from keras_bert.export.attachments import DIGEST_FILE, read_attachments
from keras_bert.export.targets.registry import FILES

# Locks a folder, prints a line when it has the lock, and waits.
HOLD = (
    "import fcntl, os, sys; fcntl.flock(os.open(sys.argv[1], os.O_RDONLY), fcntl.LOCK_EX); print(flush=True); input()"
)
# A tokenizer with a normalizer that the tokenizers for apps do not support, so that no tokenizer for apps is pushed.
TOKENIZER = json.dumps({"normalizer": {"type": "Nmt"}, "model": {"type": "Unigram"}})
EDGE_FILES = ("model.tflite", "model.onnx", "labels.json", *ALWAYS_FILES)


def seal(artifact, files):
    for name, text in files.items():
        artifact.file(name).parent.mkdir(parents=True, exist_ok=True)
        is_onnx = name.endswith(".onnx")
        content = onnx.ModelProto(producer_name=text).SerializeToString() if is_onnx else text.encode()
        artifact.file(name).write_bytes(content)
    artifact.seal({})
    return artifact


# Of a golden row: the ids of its text, and of the model's input.
TOKENS = {"pieces": [5], "token_ids": [2, 5, 3]}


def edge_model(path, content="model"):
    files = dict.fromkeys(EDGE_FILES, content)
    files["labels.json"] = '["no", "yes"]'
    files["task.json"] = json.dumps({"task": "classification", "labels": ["no", "yes"], "max_length": 64})
    numbers = {"weights": "int8", "activations": "int8"}
    recipe = {"model.tflite": {**numbers, "lengths": [32, 64]}, "model.onnx": {"lengths": [64]}}
    files["export.json"] = json.dumps(recipe)
    files["tokenizer.json"] = TOKENIZER
    outputs = {name: [0.5] for name in ("model.tflite", "model_float32.tflite", "model.onnx")}
    files["golden.json"] = json.dumps([{"text": content, **TOKENS, "outputs": outputs}])
    # The float file is not pushed if there is an int8 file.
    files["model_float32.tflite"] = content
    return seal(EdgeModel(path), files)


def contents_of(version):
    """The `content` of the models of a version, see `edge_model`."""
    tflite = (version / "model.tflite").read_bytes().partition(b"PK")[0].decode()
    return {tflite, onnx.load_model(version / "model.onnx").producer_name, (version / "vocab.txt").read_text()}


def push_once(
    folder,
    number,
    *edges,
    blessed=True,
    accuracy=0.9,
    kept=0,
    page=None,
    calibration=None,
):
    spread = {"mean": accuracy, "sd": None, "seeds": [accuracy]}
    row = {"metrics": {"accuracy": spread}, "megabytes": 1.5, "milliseconds": 0.25}
    metrics = {
        "task": "classification",
        "metric": "accuracy",
        "rows": {"train": 20, "validation": 5, "test": 10},
        "overlap": {"validation": {"train": 0}, "test": {"train": 0, "validation": 0}},
        "labels": ["no", "yes"],
        "shipped": "tflite int8",
        "kept": kept,
        "models": {"tflite int8": row},
        "calibration": calibration,
    }
    decision = {"blessed": blessed, "reasons": ["yes: a", "NO: b"], "causes": ["c; d", "e"]}
    pushed = Pushed(folder / f"pushed-{number}")
    push.run(
        edges=list(edges),
        evaluation=seal(Evaluation(folder / f"evaluation-{number}"), {"metrics.json": json.dumps(metrics)}),
        blessing=seal(Blessing(folder / f"blessing-{number}"), {"blessing.json": json.dumps(decision)}),
        examples=seal(
            TaskExamples(folder / f"examples-{number}"), {"features.json": "{}", "schema.json": '{"rows": 20}'}
        ),
        pushed=pushed,
        folder=str(folder / "models"),
        name="reviews",
        page=page,
    )
    return int(pushed.manifest()["counts"]["version"])


def test_versions_are_numbered_and_hold_all_files(tmp_path):
    assert push_once(tmp_path, 1, edge_model(tmp_path / "a", "first")) == 1
    assert push_once(tmp_path, 2, edge_model(tmp_path / "b", "second")) == 2
    assert list_versions(tmp_path / "models") == [1, 2]
    version = tmp_path / "models" / "2"
    assert {path.name for path in version.iterdir()} == {
        *EDGE_FILES,
        "metrics.json",
        "schema.json",
        "origin.json",
        "self_test.json",
        "README.md",
    }
    assert contents_of(version) == {"second"}
    card = (version / "README.md").read_text()
    assert "\n---\n# reviews, version 2\n" in card
    assert "| tflite int8 | 90.00 | 1.50 |  | 0.25 |" in card
    assert "- no `index.html`: there are no rules of its tokenizer for apps\n" in card


def test_a_search_without_a_page_is_reported(tmp_path, caplog):
    push_once(tmp_path, 1, edge_model(tmp_path / "a"), page=SearchTexts())
    assert caplog.messages == ["no page searches the texts: there are no rules of its tokenizer for apps"]


def test_a_folder_under_the_root_is_found_after_a_move(tmp_path, monkeypatch):
    (tmp_path / "root").mkdir()
    monkeypatch.chdir(tmp_path / "root")
    push_once(Path(), 1, edge_model(tmp_path / "a"))
    assert Pushed(tmp_path / "root" / "pushed-1").location() == tmp_path / "root" / "models" / "1"
    (tmp_path / "root").rename(tmp_path / "moved")
    assert Pushed(tmp_path / "moved" / "pushed-1").location() == tmp_path / "moved" / "models" / "1"
    assert Pushed(tmp_path / "moved" / "pushed-1").is_intact()


def test_pushes_files_of_the_kept_seed(tmp_path):
    edges = [edge_model(tmp_path / name, name) for name in ("a", "b", "c")]
    push_once(tmp_path, 1, *edges, kept=1)
    assert contents_of(tmp_path / "models" / "1") == {"b"}


def test_pushes_float_files_if_there_are_no_others(tmp_path):
    edge = EdgeModel(tmp_path / "a")
    files = {"model_float32.tflite": "float", "export.json": '{"model_float32.tflite": {"lengths": [8]}}'}
    settings = {"task.json": json.dumps({"task": "embedding", "max_length": 8}), "vocab.txt": "", "golden.json": "[]"}
    settings["tokenizer.json"] = TOKENIZER
    push_once(tmp_path, 1, seal(edge, {**files, **settings}))
    names = {*files, *settings, "metrics.json", "schema.json", "origin.json", "self_test.json", "README.md"}
    assert {path.name for path in (tmp_path / "models" / "1").iterdir()} == names


def test_model_files_have_metrics_and_origin_attached(tmp_path):
    push_once(tmp_path, 1, edge_model(tmp_path / "a"))
    version = tmp_path / "models" / "1"
    for name in ("model.tflite", "model.onnx"):
        held = read_attachments(version / name)
        assert held.pop(DIGEST_FILE)
        assert held == {file: (version / file).read_bytes() for file in ("export.json", "metrics.json", "origin.json")}
    origin = json.loads((version / "origin.json").read_text())
    assert origin == {
        "edge_model": EdgeModel(tmp_path / "a").fingerprint(),
        "evaluation": Evaluation(tmp_path / "evaluation-1").fingerprint(),
        "examples": TaskExamples(tmp_path / "examples-1").fingerprint(),
    }


def test_pushes_all_files_of_a_saved_model_with_calibration(tmp_path, monkeypatch):
    # It would run the model, which is a stub here.
    monkeypatch.setattr("keras_bert.clients.golden.add_calibrated_answers", lambda folder: None)
    edge = EdgeModel(tmp_path / "a")
    # Targets of plug-ins have folders, all of which is pushed.
    folders = [Path(file.name).parent for file in FILES if not file.is_self_contained]
    inside = (str(folder / name) for folder in folders for name in ("model", "weights/weight.bin"))
    files = dict.fromkeys(("saved_model.pb", "variables/variables.index", *inside), "a")
    files |= {"assets/calibration.txt": "temperature\t1.0\nthreshold\t0.0\n", "export.json": "{}", "vocab.txt": ""}
    settings = {"task.json": json.dumps({"task": "embedding", "max_length": 8}), "golden.json": "[]"}
    errors, kept = {"calibration_error": [0.1, 0.05]}, {"kept": {"share": 1.0, "precision": 1.0}}
    calibration = {"temperature": 2.0, "threshold": 0.75, "min_precision": 0.9}
    calibration |= {"validation": {"rows": 5, **errors}, "test": {**errors, **kept}}
    push_once(
        tmp_path,
        1,
        seal(edge, {**files, **settings, "tokenizer.json": TOKENIZER, "assets.extra/a": ""}),
        calibration=calibration,
    )
    version = tmp_path / "models" / "1"
    assert all((version / name).is_file() for name in files)
    assert (version / "assets" / "calibration.txt").read_text() == "temperature\t2.0\nthreshold\t0.75\n"
    attached = read_attachments(version / "saved_model.pb")
    assert set(attached) == {"a", DIGEST_FILE, "export.json", "metrics.json", "origin.json"}
    assert "assets/calibration.txt" in Pushed(tmp_path / "pushed-1").read_json("pushed.json")["files"]


WEB = ("transformers_js/config.json", "transformers_js/onnx/model.onnx", "transformers_js/1_Pooling/config.json")


def web_model(path):
    """A model with a folder for the web, all of whose files are pushed."""
    settings = {"task.json": json.dumps({"task": "embedding", "max_length": 8}), "vocab.txt": "", "golden.json": "[]"}
    settings["tokenizer.json"] = TOKENIZER
    files = {"model.onnx": "float", "export.json": '{"model.onnx": {"lengths": [8]}}', **settings}
    return seal(EdgeModel(path), {**files, **dict.fromkeys(WEB, "web")})


def test_pushes_all_files_of_a_folder(tmp_path):
    edge = web_model(tmp_path / "a")
    assert push_once(tmp_path, 1, edge) == push_once(tmp_path, 2, edge) == 1
    version = tmp_path / "models" / "1"
    for name in WEB:
        assert (version / name).read_bytes() == edge.file(name).read_bytes()
    digests = json.loads((tmp_path / "pushed-1" / "pushed.json").read_text())["files"]
    assert set(WEB) < digests.keys()


def test_the_same_model_is_not_copied_twice(tmp_path):
    edge = edge_model(tmp_path / "a")
    assert push_once(tmp_path, 1, edge) == push_once(tmp_path, 2, edge) == 1
    assert list_versions(tmp_path / "models") == [1]


def test_same_model_with_other_metrics_is_another_version(tmp_path):
    edge = edge_model(tmp_path / "a")
    assert [push_once(tmp_path, number, edge, accuracy=0.1 * number) for number in (5, 6)] == [1, 2]
    metrics = json.loads((tmp_path / "models" / "2" / "metrics.json").read_text())
    assert metrics["models"]["tflite int8"]["metrics"]["accuracy"]["mean"] == pytest.approx(0.6)


@pytest.mark.parametrize("file", [*EDGE_FILES, "metrics.json", "schema.json", "origin.json", *WEB])
@pytest.mark.parametrize("spoil", [Path.unlink, lambda path: path.write_bytes(path.read_bytes().swapcase())])
def test_damaged_version_is_not_reused(tmp_path, file, spoil):
    edge = (web_model if file in WEB else edge_model)(tmp_path / "a")
    push_once(tmp_path, 1, edge)
    spoil(tmp_path / "models" / "1" / file)
    assert not Pushed(tmp_path / "pushed-1").is_intact()
    assert push_once(tmp_path, 2, edge) == 2
    assert Pushed(tmp_path / "pushed-2").is_intact()


def test_version_with_added_files_is_reused(tmp_path):
    edge = edge_model(tmp_path / "a")
    push_once(tmp_path, 1, edge)
    (tmp_path / "models" / "1" / "README.md").write_text("in use since May")
    (tmp_path / "models" / "1" / "notes.txt").write_text("as above")
    assert Pushed(tmp_path / "pushed-1").is_intact()
    assert push_once(tmp_path, 2, edge) == 1


def test_a_model_that_is_pushed_again_later_is_the_newest_again(tmp_path):
    first, second = edge_model(tmp_path / "a", "first"), edge_model(tmp_path / "b", "second")
    assert [push_once(tmp_path, n, edge) for n, edge in enumerate((first, second, first))] == [1, 2, 3]
    (tmp_path / "models" / "7").mkdir()
    assert push_once(tmp_path, 8, first) == 8, "a numbered folder of somebody else counts, and is left alone"


def test_a_model_without_a_blessing_is_refused_with_the_reasons(tmp_path):
    with pytest.raises(Refusal, match=r"because it was not blessed: b\. Likely causes: c; d; e$"):
        push_once(tmp_path, 1, edge_model(tmp_path / "a"), blessed=False)
    assert not (tmp_path / "models").exists()


def test_a_push_that_breaks_leaves_no_version(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(push_module, "write_model_card", fail)
    with pytest.raises(OSError, match="No space"):
        push_once(tmp_path, 1, edge_model(tmp_path / "a"))
    assert list((tmp_path / "models").iterdir()) == []


def test_pushes_at_the_same_time_take_a_version_each(tmp_path, monkeypatch):
    write_card = push_module.write_model_card
    other = []

    def push_between(*arguments):
        monkeypatch.setattr(push_module, "write_model_card", write_card)
        # All of the first push is staged, and its number chosen.
        other.append(push_once(tmp_path, 2, edge_model(tmp_path / "b", "second")))
        write_card(*arguments)

    monkeypatch.setattr(push_module, "write_model_card", push_between)
    assert push_once(tmp_path, 1, edge_model(tmp_path / "a", "first")) == 2
    assert other == [1]
    for version, content in ((1, "second"), (2, "first")):
        folder = tmp_path / "models" / str(version)
        assert {path.name for path in folder.iterdir()} == {
            *EDGE_FILES,
            "metrics.json",
            "schema.json",
            "origin.json",
            "self_test.json",
            "README.md",
        }
        assert contents_of(folder) == {content}
        assert (folder / "README.md").read_text().partition("\n---\n")[2].startswith(f"# reviews, version {version}\n")
    assert len(list((tmp_path / "models").iterdir())) == 2
    assert all(Pushed(tmp_path / f"pushed-{number}").is_intact() for number in (1, 2))


def test_a_number_that_a_file_has_is_taken(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "1").write_text("of somebody else")
    assert push_once(tmp_path, 1, edge_model(tmp_path / "a")) == 2
    assert (tmp_path / "models" / "1").read_text() == "of somebody else"


def leave(folder, name, *, old=False):
    """A folder as a push has it while it goes on."""
    staging = folder / "models" / f".staging-{name}"
    staging.mkdir(parents=True)
    (staging / "model.tflite").touch()
    if old:
        os.utime(staging, (0, 0))
    return staging


def test_what_a_killed_push_left_is_swept(tmp_path):
    here = push_module._machine()
    left, held = (leave(tmp_path, f"{here}-{name}") for name in ("left", "held"))
    other = subprocess.Popen([sys.executable, "-c", HOLD, held], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None
        other.stdout.readline()
        push_once(tmp_path, 1, edge_model(tmp_path / "a"))
        assert not left.exists()
        assert held.is_dir(), "of a push that goes on"
    finally:
        other.kill()
        other.communicate()
    push_once(tmp_path, 2, edge_model(tmp_path / "b", "other"))
    assert not held.exists()


def test_where_no_lock_tells_what_is_old_is_swept(tmp_path, monkeypatch):
    """On other machines, on some of their file systems, and of versions before locks."""
    old, new = leave(tmp_path, "elsewhere-old", old=True), leave(tmp_path, "elsewhere-new")
    push_once(tmp_path, 1, edge_model(tmp_path / "a"))
    assert not old.exists()
    assert new.is_dir(), "may go on"

    def no_locks(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("components.dsl.locks.fcntl.flock", no_locks)
    here = push_module._machine()
    old, new = leave(tmp_path, f"{here}-old", old=True), leave(tmp_path, f"{here}-new")
    push_once(tmp_path, 2, edge_model(tmp_path / "b", "other"))
    assert not old.exists()
    assert new.is_dir(), "may go on"


def test_somebody_elses_folder_is_in_nobodys_way(tmp_path, monkeypatch):
    folder = leave(tmp_path, f"{push_module._machine()}-other")
    opened = os.open

    def refuse(path, flags, *more, **named):
        if Path(path) == folder:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, flags, *more, **named)

    monkeypatch.setattr(push_module.os, "open", refuse)
    assert push_once(tmp_path, 1, edge_model(tmp_path / "a")) == 1
    assert folder.is_dir()


def test_golden_outputs_are_of_files_that_are_pushed(tmp_path):
    push_once(tmp_path, 1, edge_model(tmp_path / "a"))
    rows = json.loads((tmp_path / "models" / "1" / "golden.json").read_text())
    assert rows == [{"text": "model", **TOKENS, "outputs": {"model.tflite": [0.5], "model.onnx": [0.5]}}]
