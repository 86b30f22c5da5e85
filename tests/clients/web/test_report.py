"""The page about a run, as a browser shows it."""

import pytest

from pipeline.report.page import write_page
from tests.clients.web.node import ask
from tests.pipeline.report.made_up import SCRIPT, Root, job

pytestmark = pytest.mark.web

SCREENS = [{"width": width, "dark": dark} for width in (1200, 400) for dark in (False, True)]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What there is on each screen."""
    folder = tmp_path_factory.mktemp("root")
    job(Root(folder))
    return ask("open_report.mjs", write_page(folder), given=SCREENS)


def test_it_asks_for_nothing_and_shows_what_users_wrote_on_each_screen(seen):
    for screen in seen:
        assert (screen["asked"], screen["errors"]) == ([], [])
        assert screen["text"].count(SCRIPT) == 3
        for text in ("93.8 %", "fine_tune", "Where it came from", "tokens a second", "tflite int8, shipped"):
            assert text in screen["text"]
    assert [screen["width"] for screen in seen] == [screen["width"] for screen in SCREENS]
    colors = [(screen["background"], screen["ink"]) for screen in seen]
    assert colors[:2] == colors[2:]
    assert colors[0][0] != colors[1][0]
    assert colors[0][1] != colors[1][1]
