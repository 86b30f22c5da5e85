"""Publishes the folder of a model on the Hugging Face hub, in one commit."""

import os
from pathlib import Path
from typing import NamedTuple

from keras_bert.core.folders import TASK_FILE, hint_of_versions
from keras_bert.interop.configs import CONFIG_FILE
from keras_bert.interop.hub import COMMIT, SCHEME, HubAddress
from keras_bert.interop.model_files import find_model_files

# A folder with one of these is the folder of a model.
_OF_MODELS = (TASK_FILE, CONFIG_FILE)


class Publication(NamedTuple):
    """The page of a model on the hub, the commit of its files, and whether that was made now."""

    url: str
    commit: str
    is_new: bool


def publish(
    folder: str | os.PathLike[str], address: str, *, private: bool = True, message: str = "Publish a model"
) -> Publication:
    """Publishes a pushed folder, a saved task or a folder of `to_hugging_face` on the hub, all of it in one commit.

    The commit makes and replaces files, removes those of an earlier model, and leaves what no reader of models reads.
    No commit is made where the hub has the same files. The token comes from `HF_TOKEN` or from the last login.

    Args:
        folder: the folder of the model; its `README.md` becomes the card.
        address: `OWNER/NAME` or `hf://OWNER/NAME`, also with the `@BRANCH` of a branch that exists.
        private: whether a new repository is private; an existing repository stays as it is.
        message: the message of the commit.

    Returns:
        The page of the model, and the commit.

    Raises:
        ValueError: the folder holds no model, the address is none of a model, or the hub refuses it.

    Examples:
        >>> task.save("sentiment")
        >>> publish("sentiment", "hf://datasets/ann/sentiment")
        Traceback (most recent call last):
        ValueError: publish.address must be hf://OWNER/NAME or OWNER/NAME, got hf://datasets/ann/sentiment
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    folder = Path(folder)
    if not any((folder / name).is_file() for name in _OF_MODELS):
        rule = f"be the folder of a model, with {' or '.join(_OF_MODELS)}"
        raise ValueError(f"publish.folder must {rule}, got {folder}{hint_of_versions(folder)}")
    place = HubAddress.parse(address if "://" in address else f"{SCHEME}{address}")
    if place.kind != "model" or place.path or COMMIT.fullmatch(place.revision or ""):
        raise ValueError(f"publish.address must be hf://OWNER/NAME or OWNER/NAME, got {address}")
    files = {file.relative_to(folder).as_posix(): file for file in sorted(folder.rglob("*")) if file.is_file()}
    operations = [
        CommitOperationAdd(path_in_repo=name, path_or_fileobj=file)
        for name, file in files.items()
        if not any(part.startswith(".") for part in name.split("/"))
    ]
    api = HfApi(library_name="keras-bert-edge")
    with place.errors():
        api.create_repo(place.repository, private=private, exist_ok=True)
        before = api.repo_info(place.repository, revision=place.revision)
        old = {file.rfilename for file in before.siblings or ()} - files.keys()
        operations += [CommitOperationDelete(path_in_repo=name) for name in find_model_files(old)]
        commit = api.create_commit(place.repository, operations, commit_message=message, revision=place.revision)
    return Publication(place.page, commit.oid, commit.oid != before.sha)
