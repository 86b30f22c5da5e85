"""Where a model went."""

import json
from pathlib import Path

from components.dsl.artifact import Artifact, holds_files


class Pushed(Artifact):
    """`pushed.json`: where a blessed model was pushed to, as which version, and the digests of its files."""

    format_version = 4  # model files hold a digest of themselves

    def location(self) -> Path:
        """The versioned folder that the push made."""
        return Path(json.loads(self.file("pushed.json").read_text())["path"])

    def is_intact(self) -> bool:
        """Also asks whether the pushed files are still where they were put, with the content they had."""
        if not super().is_intact():
            return False
        files = json.loads(self.file("pushed.json").read_text())["files"]
        return holds_files(self.location(), files)
