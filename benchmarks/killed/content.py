"""What a root holds, as digests that two runs of one job share."""

from pathlib import Path

from components.dsl.artifact import content_digest, list_files
from pipeline.orchestrator.root import ARTIFACTS

PUSHED = "pushed"

Digests = dict[str, str]


def digests_of(root: Path) -> Digests:
    """The digest of each file of each artifact, and of all that was pushed.

    An artifact is called by its step and output, without the key: where an input tells times, keys differ, too.
    """
    found: Digests = {}
    for folder in (root / ARTIFACTS).glob("*/*"):
        name = f"{folder.parent.name}/{folder.name.rpartition('-')[0]}"
        found |= {f"{name}/{file}": content_digest(folder / file) for file in list_files(folder)}
    return found | {f"{PUSHED}/{file}": content_digest(root / PUSHED / file) for file in list_files(root / PUSHED)}


def unlike(first: Digests, second: Digests) -> list[str]:
    """The names of the files that only one has, or both with other content."""
    return sorted({name for name, _ in first.items() ^ second.items()})
