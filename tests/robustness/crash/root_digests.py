"""Digests of a root's files, to compare the roots of two runs of one job."""

from pathlib import Path

from components.dsl.artifact import MANIFEST, content_digest, list_files
from pipeline.orchestrator.records import ARTIFACTS

PUSHED = "pushed"
_TIMED = ("evaluate/", "push/", f"{PUSHED}/")

Digests = dict[str, str]


def digest_root(root: Path) -> Digests:
    """The digest of each file of each artifact, and of all pushed files.

    An artifact's name is its step and output, without the cache key: keys differ where an input contains timestamps.
    """
    digests: Digests = {}
    for folder in (root / ARTIFACTS).glob("*/*"):
        name = f"{folder.parent.name}/{folder.name.rpartition('-')[0]}"
        digests |= {f"{name}/{file}": content_digest(folder / file) for file in list_files(folder)}
    return digests | {f"{PUSHED}/{file}": content_digest(root / PUSHED / file) for file in list_files(root / PUSHED)}


def untimed_results(root: Path) -> Digests:
    """The digests of the files that do not hold measured times: those of all steps before the evaluation.

    Manifests are left out, as parameters in them may hold paths of the user's files.
    """
    return {
        name: digest
        for name, digest in digest_root(root).items()
        if not name.startswith(_TIMED) and not name.endswith(f"/{MANIFEST}")
    }


def differing_files(first: Digests, second: Digests) -> list[str]:
    """The names of the files that only one root has, or both with different content."""
    return sorted({name for name, _ in first.items() ^ second.items()})
