"""`compile` on the command line: what single steps would refuse later is refused before."""

from pathlib import Path

import pytest

from components.objects.mirror import REMOTE_FILE
from pipeline.cli import main


def test_a_root_in_object_storage_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / REMOTE_FILE).write_text('{"address": "s3://bucket/team"}')
    out = tmp_path / "job.yaml"
    assert main(["compile", "--to", "argo", "--image", "bert:1", "--out", str(out), "--root", str(tmp_path)]) == 2
    assert "--root must be a folder that all steps share" in capsys.readouterr().err
    assert not out.exists()
