"""A model on the hub: one commit with all of its files, and none where nothing has changed."""

import pytest

from plugins.publish.publishing import publish
from tests.hub import hub

__all__ = ["hub"]

NAME = "ann/reviews"
FILES = {
    "README.md": "---\nlicense: mit\n---\n# Reviews\n",
    "task.json": "{}",
    "model.tflite": "model",
    "tokenizers/a.kt": "code",
    ".hidden": "not published",
}
# Each is read with the files of a later model by a reader of some kind.
MISLEADING = (
    *("quantization.json", "config.json", "modules.json", "1_Pooling/config.json", "2_Dense/model.safetensors"),
    *("schema.json", "metrics.json", "tokenizer_config.json", "spm.model", "sentence_roberta_config.json"),
    *("model.onnx", "model-00001-of-00002.safetensors", "adapter_model.safetensors", "onnx/model.onnx"),
    *("saved_model.pb", "variables/variables.index", "assets/calibration.txt", "assets.extra/task.json"),
    *("model.mlpackage/Manifest.json", "accelerators/coverage.json"),
    *("transformers_js/onnx/model.onnx", "adapter/adapter.json"),
)


@pytest.fixture
def folder(tmp_path):
    for name, content in FILES.items():
        (tmp_path / "model" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "model" / name).write_text(content)
    return tmp_path / "model"


def published(hub):
    repository = hub.repositories[f"models/{NAME}"]
    return repository.commits[repository.branches["main"]]


def test_all_files_come_in_one_commit_and_the_same_files_in_none(hub, folder, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_write")
    first = publish(folder, f"hf://{NAME}", message="Publish 1")
    repository = hub.repositories[f"models/{NAME}"]
    assert first == (f"{hub.url}/{NAME}", repository.branches["main"], True)
    assert published(hub) == {name: text.encode() for name, text in FILES.items() if name != ".hidden"}
    assert repository.messages == ["files", "Publish 1"]
    assert publish(folder, NAME) == first._replace(is_new=False)
    assert len(repository.commits) == 2
    # Private by default.
    assert repository.needs == "hf_write"


def test_a_later_version_replaces_the_models_and_keeps_what_is_of_others(hub, folder, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", "hf_write")
    publish(folder, NAME, private=False)
    repository = hub.repositories[f"models/{NAME}"]
    assert repository.needs == ""
    others = {"figure.png", "LICENSE", "notes/config.json", "results.json", "2024_runs/a.csv"}
    repository.commit({**published(hub), **dict.fromkeys((*others, *MISLEADING), b"old")})
    (folder / "model.tflite").write_text("better")
    assert publish(folder, NAME).is_new
    assert published(hub)["model.tflite"] == b"better"
    assert set(published(hub)) == {*FILES, *others} - {".hidden"}


def test_what_cannot_be_published_is_one_line(hub, folder, monkeypatch):
    def fails(folder, address):
        with pytest.raises(ValueError, match=r"^[^\n]*$") as caught:
            publish(folder, address)
        return str(caught.value)

    assert "the hub says 401; a private one needs HF_TOKEN" in fails(folder, NAME)
    assert "publish.folder must be the folder of a model, with task.json or config.json" in fails(folder.parent, NAME)
    for address in (f"hf://datasets/{NAME}", f"{NAME}@{'0' * 40}", f"hf://{NAME}/model"):
        assert fails(folder, address).startswith("publish.address must be hf://OWNER/NAME or OWNER/NAME, got ")
    assert hub.repositories == {}
