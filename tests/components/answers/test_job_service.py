"""A table is answered by workers of a job service as in this process: the same bytes."""

import os
import sys
from pathlib import Path

import pytest

from components.answers.answer_table import answer_table
from components.answers.table_request import TableRequest
from components.beam.engine import BeamOptions
from tests.components.answers.test_model_handler import build, sample_texts, write
from tests.components.beam.portable import local_service, portable_engine

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).parents[3]


def test_workers_of_a_job_service_write_the_same_bytes(tmp_path):
    model = write(build("classification"), tmp_path, "tflite")
    (tmp_path / "rows.csv").write_text("text\n" + "\n".join(sample_texts(2000, 0)))
    # The pool starts workers as `python`.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | {"PYTHONPATH": str(REPOSITORY), "PATH": path}
    with portable_engine(tmp_path, local_service(tmp_path), environment) as beam:
        for name, options in {"local": BeamOptions(workers=1), "service": beam}.items():
            out = tmp_path / f"{name}.parquet"
            request = TableRequest(model=model, table=str(tmp_path / "rows.csv"), text="text", out=out, beam=options)
            assert answer_table(request).rows == 2000
    assert (tmp_path / "service.parquet").read_bytes() == (tmp_path / "local.parquet").read_bytes()
    assert "Starting worker with command" in (tmp_path / "log").read_text()
