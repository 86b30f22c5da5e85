"""Artifacts of a remote root: uploaded and downloaded whole, and a cache of limited size."""

import contextlib
import os
import shutil
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

from components.dsl.artifact import MANIFEST, list_files, open_artifact
from components.dsl.errors import InputError
from components.dsl.locks import lock_file
from components.dsl.paths import has_link, own_entries
from components.objects.store import ObjectStore

LIMIT_VARIABLE = "KERAS_BERT_EDGE_CACHE_GB"
PULLS = ".pulls"
_PULL_LOCK = ".pulls.lock"
# A download that was killed leaves a folder, which is removed after this time.
_PULL_SECONDS = 24 * 3600


def upload_artifact(store: ObjectStore, folder: Path, place: str) -> None:
    """Uploads an artifact, its manifest last: a place without one holds no artifact."""
    for name in list_files(folder):
        if name != MANIFEST:
            store.upload(folder / name, f"{place}/{name}")
    store.upload(folder / MANIFEST, f"{place}/{MANIFEST}")


def pull_artifact(store: ObjectStore, place: str, root: Path, folder: Path, stored: tuple[str, str]) -> bool:
    """Downloads an artifact into a mirror unless it is there; returns False if the remote one is damaged or missing."""
    if has_link(root, folder):
        raise InputError(f"root must have no links instead of artifacts, got {folder}; remove the link")
    # Of steps of this machine that read the same artifact, one downloads it.
    with (root / _PULL_LOCK).open("a") as lock:
        lock_file(lock, wait=True)
        kind, fingerprint = stored
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            artifact = open_artifact(folder, kind)
            if artifact.is_intact() and artifact.fingerprint() == fingerprint:
                os.utime(folder)  # it counts as used now
                return True
        staging = root / PULLS / uuid.uuid4().hex
        try:
            names = list(store.below(place).find_all())
            if MANIFEST not in names:
                return False
            # An artifact is taken for intact if no file is newer than its manifest.
            for name in (*(name for name in names if name != MANIFEST), MANIFEST):
                store.download(f"{place}/{name}", staging / name)
            if not _holds(staging, *stored):
                return False
            folder.parent.mkdir(parents=True, exist_ok=True)
            if folder.exists():
                folder.rename(staging.with_name(f"{staging.name}-replaced"))
            staging.rename(folder)
        except FileNotFoundError:
            return False
        finally:
            for rest in (staging, staging.with_name(f"{staging.name}-replaced")):
                shutil.rmtree(rest, ignore_errors=True)
        return True


def _holds(folder: Path, kind: str, fingerprint: str) -> bool:
    """Whether a folder holds an artifact of this type and digest; reads all of it."""
    try:
        artifact = open_artifact(folder, kind)
        return bool(artifact.read_fingerprint() == artifact.fingerprint() == fingerprint)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def cache_limit() -> float:
    """The most bytes of artifacts in a mirror: `$KERAS_BERT_EDGE_CACHE_GB` times 10^9, else no limit."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    if not text:
        return float("inf")
    try:
        limit = float(text)
    except ValueError:
        limit = -1.0
    if not limit >= 0:
        raise InputError(f"{LIMIT_VARIABLE} must be a number of gigabytes from 0 on, got {text!r}")
    return 1e9 * limit


def evict(root: Path, artifacts: Path, kept: Iterable[Path]) -> list[Path]:
    """Removes the artifacts of a mirror that were used least recently until the rest is within the limit."""
    for folder in own_entries(root, f"{PULLS}/*"):
        if time.time() - folder.stat().st_mtime > _PULL_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)
    limit = cache_limit()
    if limit == float("inf"):
        return []
    stays = {folder.absolute() for folder in kept}
    sizes = {
        folder: sum(place.lstat().st_size for place in folder.rglob("*") if not place.is_dir())
        for folder in own_entries(root, f"{artifacts.name}/*/*")
    }
    total, evicted = sum(sizes.values()), []
    for folder in sorted(sizes, key=lambda folder: folder.stat().st_mtime):
        if total <= limit:
            break
        if folder.absolute() not in stays:
            shutil.rmtree(folder, ignore_errors=True)
            total -= sizes[folder]
            evicted.append(folder)
    return evicted
