"""Runs and artifacts, for a person."""

import contextlib
import io

from rich.console import Console

from pipeline.orchestrator.store import Store
from pipeline.views.provenance import show_status
from tests.pipeline.report.made_up import Root, job


def test_paths_break_behind_a_slash_where_the_screen_is_narrow(tmp_path):
    job(Root(tmp_path))
    screen = io.StringIO()
    with contextlib.closing(Store(tmp_path, create=False)) as store:
        show_status(store, Console(file=screen, width=73))
    text = screen.getvalue()
    assert max(map(len, text.splitlines())) <= 73
    assert "│ artifacts/mask_examples/   │" in text
    assert "│ examples-1                 │" in text
