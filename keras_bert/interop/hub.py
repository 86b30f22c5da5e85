"""Files of repositories of the Hugging Face hub, downloaded into the cache that all its clients share.

`HF_ENDPOINT`, `HF_TOKEN`, `HF_HOME`, `HF_HUB_CACHE` and `HF_HUB_OFFLINE` mean what they mean for `huggingface_hub`,
which sends the requests.
"""

import contextlib
import dataclasses
import errno
import glob
import hashlib
import logging
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from keras_bert.core.folders import (
    LEVELS_ABOVE,
    METRICS_FILE,
    TASK_FILE,
    TOKENIZER_FILES,
    WEIGHT_FILES,
    hint_of_model,
    model_parts,
)

logger = logging.getLogger(__name__)

SCHEME = "hf://"
COMMIT = re.compile("[0-9a-f]{40}")
# `OWNER/NAME`. A path on this machine that begins with `.`, `~` or `/` does not match.
_REPOSITORY = re.compile(r"\w[\w.-]*/\w[\w.-]*")
# The folder of a checkpoint, and the folders of the modules of sentence-transformers.
_FOLDER = re.compile(r"(\d+_\w+/)?")
_TEXTS = re.compile(rf"{_FOLDER.pattern}[^/]+\.(json|txt|model)")
# Further small files: the model card with the license, and the pickled head of a SetFit model, which is refused later.
_EXTRA_FILES = ("README.md", "model_head.pkl")
_SHOWN = 6


@dataclasses.dataclass(frozen=True)
class HubAddress:
    """An address on the hub: `hf://OWNER/NAME` or `hf://datasets/OWNER/NAME`, with `@REVISION` and `/PATH` if needed.

    A revision is a branch, a tag or a commit, a path a file, a folder or a pattern in the repository.
    """

    kind: str
    repository: str
    revision: str | None = None
    path: str = ""

    @classmethod
    def parse(cls, address: str) -> "HubAddress":
        """Parses an address."""
        from huggingface_hub import parse_hf_uri
        from huggingface_hub.errors import HfUriError

        rule = "an address on the hub must be hf://OWNER/NAME or hf://datasets/OWNER/NAME, with @REVISION and /PATH"
        try:
            uri = parse_hf_uri(address)
        except HfUriError as error:
            raise ValueError(f"{rule} if needed, got {address}: {error.msg}") from None
        if uri.type not in ("model", "dataset") or ".." in uri.path_in_repo.split("/"):
            raise ValueError(f"{rule} if needed, got {address}")
        return cls(uri.type, uri.id, uri.revision, uri.path_in_repo)

    def __str__(self) -> str:
        revision = self.revision or ""
        # A slash would begin the path, except in git's own names, `refs/...`.
        revision = revision if revision.startswith("refs/") else revision.replace("/", "%2F")
        revision = f"@{revision}" if revision else ""
        return f"{SCHEME}{self._prefix}{self.repository}{revision}/{self.path}".rstrip("/")

    @property
    def _prefix(self) -> str:
        return "datasets/" if self.kind == "dataset" else ""

    @property
    def page(self) -> str:
        """The page of the repository."""
        from huggingface_hub import constants

        return f"{constants.ENDPOINT}/{self._prefix}{self.repository}"

    def resolve(self) -> "HubAddress":
        """The address with the commit that the revision names now or, without a connection, at the last download."""
        from huggingface_hub import HfApi

        if self.revision and COMMIT.fullmatch(self.revision):
            return self
        with self.errors():
            revision = HfApi().resolve_revision(self.repository, repo_type=self.kind, revision=self.revision)
        return dataclasses.replace(self, revision=revision.resolved)

    def list_files(self) -> list[str]:
        """The names of all files of a commit, sorted; the hub is asked once for each commit."""
        from huggingface_hub import HfApi, constants, is_offline_mode
        from huggingface_hub.hf_api import RepoFile

        tree = self._cached_tree()
        if tree is None and is_offline_mode():
            raise ValueError(
                f"the list of all files of {self} must be in the hub's cache, {constants.HF_HUB_CACHE}, while "
                "HF_HUB_OFFLINE is set, as some of them may be missing there; run once without it"
            )
        if tree is None:
            with self.errors():
                tree = list(HfApi().list_repo_tree(self.repository, recursive=True, **self._source))
        return sorted(file.path for file in tree if isinstance(file, RepoFile))

    @property
    def _source(self) -> dict[str, str | None]:
        return {"repo_type": self.kind, "revision": self.revision}

    def _cached_tree(self) -> list[Any] | None:
        """The files of a commit, which the client caches when it downloads several of them; None if it did not."""
        from huggingface_hub import get_cached_repo_tree
        from huggingface_hub.errors import CachedRepoTreeNotFoundError

        try:
            return list(get_cached_repo_tree(self.repository, **self._source))
        except CachedRepoTreeNotFoundError:
            return None

    def list_folder(self) -> list[str]:
        """The names of the files in the folder of the path, relative to it; one empty name for the path of a file."""
        start = f"{self.path}/" if self.path else ""
        inside = [f"{name}/".removeprefix(start)[:-1] for name in self.list_files() if f"{name}/".startswith(start)]
        if not inside:
            hint = "; a branch with a slash is written @a%2Fb" if self.path else ""
            raise ValueError(f"{self} must be a file or a folder that exists, found nothing there{hint}")
        return inside

    def download(self) -> Path:
        """Downloads the file or the folder of the path, and returns its path in the hub's cache, see `fetch`.

        A model's file comes with its parts, and with the settings and the tokenizer in the folders above it.
        """
        names = self.list_folder()
        if names != [""] or self.kind != "model":
            return self.fetch(names)
        path = PurePosixPath(self.path)
        settings = (TASK_FILE, METRICS_FILE, *TOKENIZER_FILES)
        above = {str(folder / name) for folder in path.parents[:LEVELS_ABOVE] for name in settings}
        parts = tuple(f"{path.parent / part}/" for part in model_parts(path.name))
        beside = [name for name in self.list_files() if name in above or name.startswith(parts)]
        return dataclasses.replace(self, path="").fetch([self.path, *beside]) / self.path

    def fetch(self, names: Sequence[str]) -> Path:
        """Downloads files by their names in the folder of the path, and returns that folder in the hub's cache.

        Needs no network if all files and their list are in the cache. The digest of each downloaded file is compared
        with the digest in the commit. The download of a large file that was interrupted is resumed.
        """
        from huggingface_hub import HfApi, snapshot_download, try_to_load_from_cache

        names = [f"{self.path}/{name}".strip("/") for name in names]
        cached = {name: try_to_load_from_cache(self.repository, name, **self._source) for name in names}
        missing = [name for name, file in cached.items() if not isinstance(file, str)]
        if not missing and self._cached_tree() is not None:
            return Path(cached[names[0]]).parents[names[0].count("/")] / self.path
        with self.errors():
            tree = HfApi().list_repo_tree(self.repository, recursive=True, **self._source)
            files = [file for file in tree if file.path in missing]
            for file in files:
                if file.lfs is not None:
                    self._fetch_large(file.path, file.lfs.sha256, file.lfs.size)
            patterns = [glob.escape(name) for name in names]
            folder = Path(snapshot_download(self.repository, allow_patterns=patterns, **self._source))
        for file in files:
            if file.lfs is None:
                content = (folder / file.path).read_bytes()
                # The name of a file's content in git.
                digest = hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
                self._check_digest((folder / file.path).resolve(), digest, file.blob_id)
        return folder / self.path

    def _fetch_large(self, name: str, sha256: str, size: int) -> None:
        """Downloads a file into the cache of the client, which could not resume an interrupted download itself."""
        from huggingface_hub import constants, hf_hub_url
        from huggingface_hub.file_download import http_get, repo_folder_name
        from huggingface_hub.utils import WeakFileLock, build_hf_headers

        cache, owner = Path(constants.HF_HUB_CACHE), repo_folder_name(repo_id=self.repository, repo_type=self.kind)
        blob, lock = cache / owner / "blobs" / sha256, cache / ".locks" / owner / f"{sha256}.lock"
        url = hf_hub_url(self.repository, name, repo_type=self.kind, revision=self.revision)
        for folder in (blob.parent, lock.parent):
            folder.mkdir(parents=True, exist_ok=True)
        unfinished = blob.with_name(f"{sha256}.unfinished")
        with WeakFileLock(lock):
            if blob.is_file():
                return
            if unfinished.is_file() and unfinished.stat().st_size > size:
                unfinished.unlink()
            with unfinished.open("ab") as file:
                headers = build_hf_headers(library_name="keras-bert-edge")
                http_get(
                    url, file, resume_size=file.tell(), headers=headers, expected_size=size, displayed_filename=name
                )
            with unfinished.open("rb") as stream:
                self._check_digest(unfinished, hashlib.file_digest(stream, "sha256").hexdigest(), sha256)
            unfinished.replace(blob)

    def _check_digest(self, file: Path, digest: str, expected: str) -> None:
        if digest != expected:
            file.unlink()
            rule = f"have the digest {expected} that the hub names, got {digest}"
            raise ValueError(f"a file of {self} must {rule}; it was damaged in transit: run again")

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turns errors of the client in the block into a ValueError of one line."""
        from huggingface_hub import errors

        try:
            yield
        except (OSError, errors.HTTPError, errors.RevisionResolutionError) as error:
            if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
                raise
            raise ValueError(self._explain(error)) from error

    def _explain(self, error: BaseException) -> str:
        from huggingface_hub import constants, errors, get_token, is_offline_mode

        causes = [error]
        while causes[-1].__cause__ is not None:
            causes.append(causes[-1].__cause__)
        answer = next((cause for cause in causes if isinstance(cause, errors.HfHubHTTPError)), None)
        status = None if answer is None else answer.response.status_code
        if isinstance(answer, errors.GatedRepoError):
            return f"{self} is gated: ask for access on {self.page}, and set HF_TOKEN to a token of that account"
        if isinstance(answer, errors.RevisionNotFoundError):
            gone = "; a job keeps the commit that it began with: --refresh looks for the present one"
            hint = gone if COMMIT.fullmatch(str(self.revision)) else ""
            return f"{self} must name a branch, a tag or a commit of {self.repository}, got {self.revision!r}{hint}"
        if isinstance(answer, errors.RepositoryNotFoundError) or status in (401, 403):
            advice = "a private one needs HF_TOKEN, a token that may read it, and to publish needs one that may write"
            if get_token():
                advice = "the token of HF_TOKEN, or of the last login, may be wrong or not allowed to do this"
            return f"{self} must be a repository that exists and is open to you, the hub says {status}; {advice}"
        if is_offline_mode():
            where = f"the hub's cache, {constants.HF_HUB_CACHE}"
            return f"{self} must be in {where}, while HF_HUB_OFFLINE is set; run once without it"
        if isinstance(error, OSError) and error.errno is not None:
            where = f"the hub's cache, {constants.HF_HUB_CACHE}, must be a folder that can be written"
            return f"{where}, got {error}; HF_HOME names another"
        reason = " ".join(str(causes[-1] if answer is None else answer).split())
        return f"the hub must be reachable for {self}, got {reason}; nothing is lost: run again"


def fetch_checkpoint(address: str) -> Path:
    """The folder of a checkpoint in the hub's cache, with the files that are read: configuration, tokenizer, weights.

    The path of the address is its folder in the repository. Weights for other libraries are not downloaded. Code of the
    repository is never run.
    """
    resolved = HubAddress.parse(address).resolve()
    names = resolved.list_folder()
    if TASK_FILE in names:  # this library saved it
        return resolved.download()
    weights = choose_weights(names)
    if not any(_folder_of(name) in ("", "0_Transformer/") for name in weights):
        others = [name for name in names if not _TEXTS.fullmatch(name) and not name.startswith(".")] or names
        more = f" and {len(others) - _SHOWN} more" if len(others) > _SHOWN else ""
        rule = f"weights in {' or '.join(WEIGHT_FILES)}"
        held = f"{', '.join(others[:_SHOWN]) or 'no file'}{more}{hint_of_model(names)}"
        raise ValueError(f"{address} must hold {rule}, got {held}")
    texts = [name for name in names if _TEXTS.fullmatch(name) or name in _EXTRA_FILES]
    folder = resolved.fetch(texts)
    from keras_bert.interop.configs import CONFIG_FILE, read_family  # imports pydantic, which planning does without

    # Before the weights, which are large.
    read_family(folder / CONFIG_FILE)
    return resolved.fetch([*texts, *weights])


def choose_weights(names: Sequence[str]) -> list[str]:
    """The names of the files of weights to read: one file, or its shards, for each folder of a module."""
    chosen: dict[str, list[str]] = {}
    for weights in reversed(WEIGHT_FILES):
        whole = weights.removesuffix(".index.json")
        stem, _, suffix = whole.rpartition(".")
        kind = re.compile(re.escape(whole) if weights == whole else rf"{re.escape(stem)}-\d+-of-\d+\.{suffix}")
        for folder in map(_folder_of, names):
            files = [name for name in names if kind.fullmatch(name.removeprefix(folder)) and name.startswith(folder)]
            if files:
                chosen[folder] = files
    return [name for files in chosen.values() for name in files]


def _folder_of(name: str) -> str:
    match = _FOLDER.match(name)
    return match[0] if match else ""


def find_checkpoint(folder: str | os.PathLike[str]) -> Path:
    """The folder of a checkpoint: on this machine, or the downloaded folder of `OWNER/NAME` or `hf://...`."""
    name = os.fspath(folder)
    if name.startswith(SCHEME):
        return fetch_checkpoint(name)
    if not isinstance(folder, str) or not _REPOSITORY.fullmatch(name):
        return Path(folder)
    if os.path.isdir(name):
        logger.warning("read the folder %s of this machine; %s%s would be that of the hub", name, SCHEME, name)
        return Path(name)
    try:
        return fetch_checkpoint(f"{SCHEME}{name}")
    except ValueError as error:
        raise ValueError(f"there is no folder {name}, and {error}") from error.__cause__
