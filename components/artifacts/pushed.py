"""Where a model went."""

import json
from pathlib import Path

from components.dsl.artifact import Artifact


class Pushed(Artifact):
    """`pushed.json`: where a blessed model was pushed to, and as which version."""

    def location(self) -> Path:
        """The versioned folder that the push made."""
        return Path(json.loads(self.file("pushed.json").read_text())["path"])

    def is_intact(self) -> bool:
        """Also asks whether the pushed files are still where they were put."""
        if not super().is_intact():
            return False
        names = json.loads(self.file("pushed.json").read_text())["files"]
        return all((self.location() / name).is_file() for name in names)
