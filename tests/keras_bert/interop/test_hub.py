"""Checkpoints of the hub: only the files that are read, resumed and compared with their digests, in its own cache."""

import json
import logging
import os
import sys
from pathlib import Path

import pytest

from keras_bert.core.folders import WEIGHT_FILES
from keras_bert.interop.hub import HubAddress, choose_weights, fetch_checkpoint, find_checkpoint
from tests.hub import hub, hub_variables
from tests.keras_bert.interop.checkpoints import GOLDEN
from tests.processes import running, wait_for

__all__ = ["hub"]

NAME = "ann/small-bert"
ADDRESS = f"hf://{NAME}"
FILES = {
    ".gitattributes": b"*.safetensors filter=lfs\n",
    "README.md": b"---\nlicense: mit\n---\n",
    "config.json": b'{"model_type": "bert"}',
    "vocab.txt": b"[PAD]\n[UNK]\n",
    "model.safetensors": bytes(range(256)) * 200,
    "pytorch_model.bin": b"pickle",
    "tf_model.h5": b"keras 2",
    "onnx/model.onnx": b"onnx",
    "onnx/config.json": b"{}",
    "1_Pooling/config.json": b'{"pooling_mode": "mean"}',
    "2_Dense/config.json": b'{"bias": true}',
    "2_Dense/pytorch_model.bin": b"dense",
}
READ = [
    "1_Pooling/config.json",
    "2_Dense/config.json",
    "2_Dense/pytorch_model.bin",
    "README.md",
    "config.json",
    "model.safetensors",
    "vocab.txt",
]


def names_in(folder):
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file())


def fails(address, error=ValueError):
    with pytest.raises(error) as caught:
        fetch_checkpoint(address)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_files_that_are_read_come_into_the_cache_of_the_hub_and_stay(hub):
    commit = hub.add(NAME, FILES).branches["main"]
    folder = fetch_checkpoint(ADDRESS)
    assert names_in(folder) == READ
    assert (folder.name, (folder / "model.safetensors").read_bytes()) == (commit, FILES["model.safetensors"])
    assert folder.parents[2] == Path(os.environ["HF_HOME"], "hub")
    # The client of everybody else finds them there.
    from huggingface_hub import hf_hub_download

    count = len(hub.downloads())
    assert sorted(hub.downloads()) == READ
    assert hf_hub_download(NAME, "model.safetensors", revision=commit, local_files_only=True) == str(
        folder / "model.safetensors"
    )
    assert fetch_checkpoint(ADDRESS) == fetch_checkpoint(f"{ADDRESS}@{commit}") == folder
    assert len(hub.downloads()) == count


def test_tokens_go_to_the_hub_and_not_to_its_storage(hub, monkeypatch):
    hub.add(NAME, FILES, needs="hf_secret")
    assert fails(ADDRESS) == (
        f"{ADDRESS} must be a repository that exists and is open to you, the hub says 401; a private one needs "
        "HF_TOKEN, a token that may read it, and to publish needs one that may write"
    )
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    assert "the token of HF_TOKEN, or of the last login, may be wrong" in fails(ADDRESS)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert names_in(fetch_checkpoint(ADDRESS)) == READ
    large = [headers for method, path, headers in hub.requests if path.startswith("/large/")]
    assert large
    assert not any("Authorization" in headers for headers in large)


def test_gated_repositories_missing_ones_and_missing_revisions_are_one_line(hub):
    hub.add(NAME, FILES, needs="hf_secret", gated=True)
    assert fails(ADDRESS).endswith(
        f" is gated: ask for access on {hub.url}/{NAME}, and set HF_TOKEN to a token of that account"
    )
    assert fails("hf://ann/none").startswith("hf://ann/none must be a repository that exists")
    assert fails(f"{ADDRESS}@v2") == f"{ADDRESS}@v2 must name a branch, a tag or a commit of {NAME}, got 'v2'"
    assert "must be hf://OWNER/NAME or hf://datasets/OWNER/NAME" in fails("hf://none")
    assert "got hf://spaces/ann/x" in fails("hf://spaces/ann/x")


def test_a_cut_download_goes_on_where_it_was_cut(hub, monkeypatch):
    hub.add(NAME, FILES)
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 100)
    hub.cuts, hub.busy, hub.busy_paths = [1000, 2000], 1, "/large/"
    assert (fetch_checkpoint(ADDRESS) / "model.safetensors").read_bytes() == FILES["model.safetensors"]
    ranges = [headers.get("Range") for method, path, headers in hub.requests if path.startswith("/large/")]
    assert ranges[:4] == [None, None, "bytes=1000-", "bytes=3000-"]


def test_a_busy_hub_is_one_line(hub):
    hub.add(NAME, FILES)
    hub.busy = 100
    assert fails(ADDRESS).startswith(f"the hub must be reachable for {ADDRESS}, got 429 Too Many Requests")


def test_two_killed_downloads_are_continued(hub, tmp_path):
    hub.add(NAME, FILES)
    code = "from huggingface_hub import constants; constants.DOWNLOAD_CHUNK_SIZE = 100; "
    code += f"from keras_bert.interop.hub import fetch_checkpoint; fetch_checkpoint({ADDRESS!r})"
    command = [sys.executable, "-c", code]
    hub.cuts = [-20_000, -20_000]
    cache = tmp_path / "hub" / "hub"  # the client makes and removes folders in it
    for size in (10_000, 30_000):
        with running(command, env={**os.environ, **hub_variables(hub, tmp_path / "hub")}) as process:
            wait_for(
                lambda size=size: sum(file.stat().st_size for file in cache.glob("*/blobs/*.unfinished")) > size,
                process,
            )
            process.kill()
    starts = [headers.get("Range", "bytes=0-") for method, path, headers in hub.requests if path.startswith("/large/")]
    first, second = (int(start[len("bytes=") : -1]) for start in starts)
    assert (first, second) == (0, second)
    assert second > 10_000
    assert (fetch_checkpoint(ADDRESS) / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_a_damaged_file_is_refused_and_comes_again(hub):
    hub.add(NAME, FILES)
    hub.damages = 1
    message = fails(ADDRESS)
    assert message.startswith(f"a file of {ADDRESS}@")
    assert message.endswith("it was damaged in transit: run again")
    assert (fetch_checkpoint(ADDRESS) / "model.safetensors").read_bytes() == FILES["model.safetensors"]


def test_a_branch_moves_and_a_commit_stays(hub, monkeypatch):
    repository = hub.add(NAME, FILES)
    first = fetch_checkpoint(ADDRESS)
    repository.commit({**FILES, "vocab.txt": b"[PAD]\nnew\n"})
    second = fetch_checkpoint(ADDRESS)
    assert (second / "vocab.txt").read_bytes() == b"[PAD]\nnew\n"
    assert fetch_checkpoint(f"{ADDRESS}@{first.name}") == first
    assert hub.downloads().count("model.safetensors") == 1


def test_what_is_cached_needs_no_network(hub, monkeypatch):
    hub.add(NAME, FILES)
    folder = fetch_checkpoint(ADDRESS)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    count = len(hub.requests)
    assert fetch_checkpoint(ADDRESS) == folder
    assert fails("hf://ann/other").endswith("while HF_HUB_OFFLINE is set; run once without it")
    assert len(hub.requests) == count


def test_without_a_network_single_cached_files_are_not_the_whole_repository(hub, monkeypatch):
    from huggingface_hub import hf_hub_download

    hub.add(NAME, FILES)
    for name in READ:
        hf_hub_download(NAME, name)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    message = fails(ADDRESS)
    assert message.startswith(f"the list of all files of {ADDRESS}@")
    assert message.endswith("while HF_HUB_OFFLINE is set, as some of them may be missing there; run once without it")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    folder = fetch_checkpoint(ADDRESS)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert fetch_checkpoint(ADDRESS) == folder


def test_the_folder_of_an_address_is_the_checkpoint(hub):
    inner = {f"checkpoint-500/{name}": content for name, content in FILES.items()}
    inner["checkpoint-500/model.safetensors"] = b"other weights"
    repository = hub.add(NAME, {**FILES, **inner})
    folder = fetch_checkpoint(f"{ADDRESS}/checkpoint-500")
    assert (folder.name, names_in(folder)) == ("checkpoint-500", READ)
    assert (folder / "model.safetensors").read_bytes() == b"other weights"
    assert fetch_checkpoint(f"{ADDRESS}/checkpoint-500") == folder
    assert fails(f"{ADDRESS}/checkpoint-600") == (
        f"{ADDRESS}@{repository.branches['main']}/checkpoint-600 must be a file or a folder that exists, found nothing "
        "there; a branch with a slash is written @a%2Fb"
    )
    repository.branches["feature"] = repository.branches["main"]
    assert fails(f"{ADDRESS}@feature/x").endswith("a branch with a slash is written @a%2Fb")


def test_a_commit_that_is_gone_names_the_option_that_looks_for_another(hub):
    hub.add(NAME, FILES)
    assert fails(f"{ADDRESS}@{'0' * 40}").endswith("--refresh looks for the present one")


def test_a_cache_that_cannot_be_written_is_one_line(hub, tmp_path, monkeypatch):
    hub.add(NAME, FILES)
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "file" / "hub"))
    message = fails(ADDRESS)
    assert message.startswith(f"the hub's cache, {tmp_path}/file/hub, must be a folder that can be written, got ")
    assert message.endswith("HF_HOME names another")


def test_a_repository_without_weights_says_what_it_has(hub):
    hub.add(NAME, {name: FILES[name] for name in ("config.json", "onnx/model.onnx", "tf_model.h5", "vocab.txt")})
    assert fails(ADDRESS) == (
        f"{ADDRESS} must hold weights in {' or '.join(WEIGHT_FILES)}, got onnx/model.onnx, tf_model.h5"
    )
    assert hub.downloads() == []
    hub.add("ann/adapter", {"adapter_config.json": b"{}", "adapter_model.safetensors": b"x"})
    assert fails("hf://ann/adapter").endswith("; it is an adapter of peft: read its base, and then the adapter by "
                                              "keras_bert.from_peft")  # fmt: skip


@pytest.mark.parametrize("kind", ["NewModel", "bert"])
def test_code_of_a_repository_is_named_and_never_fetched(hub, kind):
    config = {"model_type": kind, "auto_map": {"AutoModel": "modeling.NewModel"}}
    hub.add(NAME, {**FILES, "config.json": json.dumps(config).encode(), "modeling.py": b"raise SystemExit"})
    message = fails(ADDRESS)
    if kind == "bert":
        assert "config.json: auto_map must be absent, got {'AutoModel': 'modeling.NewModel'}" in message
    else:
        assert "model_type must be a family of docs/families.md" in message
        assert message.endswith('code of its own, auto_map {"AutoModel": "modeling.NewModel"}, is never run')
    assert not {"modeling.py", "model.safetensors"} & set(hub.downloads())


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["model.safetensors", "pytorch_model.bin"], ["model.safetensors"]),
        (["model-1-of-2.safetensors", "model-2-of-2.safetensors"],) * 2,
        (["pytorch_model.bin", "adapter_model.safetensors", "optimizer.bin"], ["pytorch_model.bin"]),
        (["0_Transformer/pytorch_model.bin", "onnx/model.safetensors"], ["0_Transformer/pytorch_model.bin"]),
    ],
)
def test_one_kind_of_weights_is_chosen(names, expected):
    assert choose_weights(names) == expected


@pytest.mark.parametrize(
    "address",
    [
        "hf://a/b",
        "hf://a/b@v1",
        "hf://a/b@one%2Ftwo/x.csv",
        "hf://datasets/a/b/data/*.parquet",
        "hf://datasets/a/b@refs/pr/1/x.csv",
    ],
)
def test_addresses_are_written_as_they_are_read(address):
    assert str(HubAddress.parse(address)) == address


def test_a_folder_of_the_name_wins_and_says_so(hub, tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    hub.add(NAME, FILES)
    assert find_checkpoint(NAME).parent.name == "snapshots"
    Path(NAME).mkdir(parents=True)
    with caplog.at_level(logging.WARNING):
        assert find_checkpoint(NAME) == Path(NAME)
    assert caplog.messages == [f"read the folder {NAME} of this machine; {ADDRESS} would be that of the hub"]
    assert (find_checkpoint("name"), find_checkpoint(Path("x/y"))) == (Path("name"), Path("x/y"))
    with pytest.raises(ValueError, match="there is no folder ann/none, and hf://ann/none must be a repository"):
        find_checkpoint("ann/none")


def test_a_checkpoint_of_the_hub_is_that_of_its_folder(hub):
    hub.add(NAME, GOLDEN / "hugging_face_classification")
    from keras_bert.interop.hugging_face import read_model

    assert read_model(NAME).count_params() == read_model(GOLDEN / "hugging_face_classification").count_params()


@pytest.mark.parametrize(
    ("path", "beside"),
    [
        ("transformers_js/onnx/model.onnx", []),
        ("saved_model.pb", ["assets.extra/digest.json", "variables/variables.index"]),
    ],
)
def test_a_file_of_a_model_comes_with_what_it_is_loaded_from(hub, path, beside):
    settings = ["metrics.json", "task.json", "tokenizer.json", "vocab.txt"]
    others = ["README.md", "model.keras", "other/task.json", "transformers_js/onnx/model_fp16.onnx"]
    hub.add(
        NAME, dict.fromkeys([path, *settings, *others, "variables/variables.index", "assets.extra/digest.json"], b"a")
    )
    file = HubAddress.parse(f"{ADDRESS}/{path}").resolve().download()
    assert file.read_bytes() == b"a"
    folder = file.parents[path.count("/")]
    assert sorted(part.relative_to(folder).as_posix() for part in folder.rglob("*") if part.is_file()) == sorted(
        [path, *settings, *beside]
    )
