"""Asks the scripts of this folder, which know the packages of `package.json` and nothing of this project."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent


def ask(script: str, *arguments: object, given: Any) -> Any:
    """What a script prints, given JSON."""
    assert (_HERE.parent / "node_modules").is_dir(), "the packages must be there; `make test-web` installs them"
    command = ["node", str(_HERE / script), *map(str, arguments)]
    # Puppeteer takes a path, not the name of a program.
    environment = {**os.environ, "CHROMIUM": shutil.which(os.environ.get("CHROMIUM", "")) or ""}
    done = subprocess.run(
        command, input=json.dumps(given), capture_output=True, text=True, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
