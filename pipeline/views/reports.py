"""Files that commands write."""

import os
from pathlib import Path

from components.dsl.errors import InputError
from components.files.text_files import is_unicode


def check_output(file: Path) -> None:
    """Checks that the file of `--out` can be written, before the work for its content."""
    if not is_unicode(str(file)):
        raise InputError(f"--out must be a name in UTF-8, got {str(file)!r}")
    if not file.parent.is_dir():
        raise InputError(f"--out must be in a folder that exists, got {file}")
    if file.is_dir():
        raise InputError(f"--out must be a file, got the folder {file}")
    if not os.access(file if file.exists() else file.parent, os.W_OK):
        raise InputError(f"--out must be a file that can be written, got {file}")
