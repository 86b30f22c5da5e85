"""Where a model went."""

import os
from pathlib import Path
from typing import Any

from components.dsl.artifact import Artifact, holds_files
from components.objects.mirror import address_of
from components.objects.versions import RemoteVersions

PUSHED_FILE = "pushed.json"


class Pushed(Artifact):
    """`pushed.json`: where a blessed model was pushed to, as which version, and the digests of its files.

    A folder in the same root is given relative to this artifact, so that a root can be moved; any other is absolute.
    """

    format_version = 4  # model files hold a digest of themselves

    def content(self) -> dict[str, Any]:
        """{"path": ..., "version": ..., "files": {name: digest}}."""
        content: dict[str, Any] = self.read_json(PUSHED_FILE)
        return content

    def location(self) -> Path:
        """The versioned folder that the push made."""
        return Path(os.path.normpath(self.path / self.content()["path"]))

    def is_intact(self) -> bool:
        """Also checks that the pushed files are still where they were put, with the content they had.

        Of those in object storage, which are not read, it checks names and the digests that were uploaded with them.
        """
        if not super().is_intact():
            return False
        place, digests = self.location(), self.content()["files"]
        address = address_of(place)
        if address is None:
            return holds_files(place, digests)
        return RemoteVersions(address.rpartition("/")[0]).holds(int(place.name), digests)
