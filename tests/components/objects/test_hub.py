"""Addresses on the hub: a commit stays until it is asked for again; tables, patterns and checkpoints."""

import hashlib

import pytest

from components.dsl.errors import InputError
from components.files.paths import file_digest, match_files, short_name
from components.files.tables import read_table
from components.objects.downloads import local_file, local_folder
from components.objects.hub import pin_address, resolve_address
from components.objects.mirror import show_addresses
from components.sources.checkpoint import Checkpoint
from components.sources.table import TableSource
from components.sources.text import TextSource
from tests.hub import hub
from tests.keras_bert.interop.checkpoints import GOLDEN

__all__ = ["hub"]

DATA = "hf://datasets/ann/rows"
TABLES = {
    "README.md": b"rows",
    "data/train-0.csv": b"text,label\nfine,yes\n",
    "data/train-1.csv": b"text,label\npoor,no\n",
    "data/test.csv": b"text,label\ngood,yes\n",
    "texts/a.txt": b"One text.\n",
}


def offline(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)


def test_a_commit_stays_until_it_is_asked_for_again(hub, monkeypatch):
    repository = hub.add("datasets/ann/rows", TABLES)
    first = pin_address(f"{DATA}/data/test.csv")
    assert first == f"{DATA}@{repository.branches['main']}/data/test.csv"
    assert local_file(first).read_bytes() == TABLES["data/test.csv"]
    second = repository.commit({**TABLES, "data/test.csv": b"text,label\nnew,yes\n"})
    count = len(hub.requests)
    assert pin_address(f"{DATA}/data/test.csv") == pin_address(first) == first
    assert len(hub.requests) == count
    assert pin_address(f"{DATA}/texts", refresh=True) == f"{DATA}@{second}/texts"
    assert local_file(f"{DATA}/data/test.csv").read_bytes() == b"text,label\nnew,yes\n"
    assert local_file(first).read_bytes() == TABLES["data/test.csv"]


def test_files_folders_and_patterns(hub, monkeypatch):
    hub.add("datasets/ann/rows", TABLES)
    kinds = (".csv",)
    assert match_files(f"{DATA}/data/test.csv", kinds, what="rows") == [f"{DATA}/data/test.csv"]
    trains = [f"{DATA}/data/train-0.csv", f"{DATA}/data/train-1.csv"]
    assert match_files(f"{DATA}/data/train-*.csv", kinds, what="rows") == trains
    assert match_files(f"{DATA}/**/train-?.csv", kinds, what="rows") == trains
    assert match_files(f"{DATA}/data/", kinds, what="rows") == [f"{DATA}/data/test.csv", *trains]
    assert len(match_files(DATA, kinds, what="rows")) == 3
    assert short_name(trains[0], f"{DATA}/data") == "train-0.csv"
    assert hub.downloads() == []
    assert file_digest(trains[0]) == hashlib.sha256(TABLES["data/train-0.csv"]).hexdigest()
    assert [record.values for record in read_table(f"{DATA}/data/train-*.csv", ("text",))] == [("fine",), ("poor",)]
    folder = local_folder(f"{DATA}/data")
    assert (folder.name, len(list(folder.iterdir()))) == ("data", 3)
    offline(monkeypatch)
    assert local_folder(f"{DATA}/data/") == folder
    for path, rule in (("none.csv", "a file or a folder that exists"), ("x*.csv", "a pattern that matches a file")):
        with pytest.raises(InputError, match=f"rows must be {rule}, got {DATA}/".replace("*", r"\*")):
            match_files(f"{DATA}/{path}", kinds, what="rows")
    for download in (local_file, local_folder):
        with pytest.raises(InputError, match="none must be a file or a folder that exists, found nothing there"):
            download(f"{DATA}/none")


def test_rows_and_texts_of_the_hub_have_the_key_of_their_content(hub, tmp_path):
    hub.add("datasets/ann/rows", TABLES)
    for name, content in TABLES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    sources = [
        TableSource(f"{place}/data/train-*.csv", test=f"{place}/data/test.csv") for place in (DATA, str(tmp_path))
    ]
    assert sources[0].splits() == sources[1].splits()
    assert sources[0].fingerprint() == sources[1].fingerprint()
    texts = [TextSource(f"{place}/texts") for place in (DATA, str(tmp_path))]
    assert texts[0].fingerprint() == texts[1].fingerprint()


def test_the_key_of_a_checkpoint_is_its_commit(hub, monkeypatch):
    golden = GOLDEN / "hugging_face_classification"
    repository = hub.add("ann/small", golden)
    checkpoint = Checkpoint("hf://ann/small")
    commit = repository.branches["main"]
    assert checkpoint.digests() == {f"hf://ann/small@{commit}": commit}
    key = checkpoint.fingerprint()
    assert checkpoint.size("hidden_size") == Checkpoint(str(golden)).size("hidden_size")
    files = dict(repository.commits[commit])
    repository.commit({**files, "README.md": b"moved"})
    assert Checkpoint("hf://ann/small").fingerprint() == key, "one process reads one commit"
    # Files of the same commit that other clients fetch do not change it.
    (checkpoint.folder() / "rust_model.json").write_text("{}")
    offline(monkeypatch)
    assert checkpoint.fingerprint() == Checkpoint(f"hf://ann/small@{commit}").fingerprint() == key
    resolve_address.cache_clear()
    assert checkpoint.fingerprint() == key, "without a network it is the commit of before"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    resolve_address.cache_clear()
    assert checkpoint.fingerprint() == key, "a branch that moves changes nothing until somebody asks"
    pin_address("hf://ann/small", refresh=True)
    resolve_address.cache_clear()
    assert checkpoint.fingerprint() != key


def test_a_pattern_is_not_matched_with_a_part_of_the_files(hub, monkeypatch):
    from huggingface_hub import hf_hub_download

    hub.add("datasets/ann/rows", TABLES)
    hf_hub_download("ann/rows", "data/train-0.csv", repo_type="dataset")
    offline(monkeypatch)
    with pytest.raises(InputError, match="the list of all files of hf"):
        match_files(f"{DATA}/data/train-*.csv", (".csv",), what="rows")


def test_the_folder_of_a_checkpoint_is_part_of_its_key(hub):
    files = {file.name: file.read_bytes() for file in (GOLDEN / "hugging_face_classification").iterdir()}
    hub.add("ann/small", {**files, **{f"best/{name}": content for name, content in files.items()}})
    root, best = Checkpoint("hf://ann/small"), Checkpoint("hf://ann/small/best")
    assert best.folder() == root.folder() / "best"
    assert best.fingerprint() != root.fingerprint()
    with pytest.raises(InputError, match="/none must be a file or a folder that exists"):
        Checkpoint("hf://ann/small/none").check()


def test_paths_in_the_hubs_cache_are_shown_by_their_addresses(hub):
    commit = hub.add("ann/small", {"config.json": b"{}"}).branches["main"]
    hub.add("datasets/ann/rows", TABLES)
    file, table = local_file("hf://ann/small/config.json"), local_file(f"{DATA}/data/test.csv")
    assert show_addresses(f"{file} must hold x") == f"hf://ann/small@{commit}/config.json must hold x"
    assert show_addresses(str(table)).startswith(f"{DATA}@")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("hf://none", r"an address on the hub must be hf://OWNER/NAME"),
        ("hf://ann/none", r"hf://ann/none must be a repository that exists and is open to you, the hub says 401"),
    ],
)
def test_a_checkpoint_that_is_not_there_is_one_line(hub, path, message):
    with pytest.raises(InputError, match=message):
        Checkpoint(path).check()
