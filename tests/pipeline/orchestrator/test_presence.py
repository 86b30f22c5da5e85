import json

import pytest

from pipeline.orchestrator import presence
from pipeline.orchestrator.presence import Presence, Sighting


def test_process_is_alive_until_its_heartbeat_is_lost(tmp_path, monkeypatch):
    monkeypatch.setattr(presence, "BEAT_SECONDS", 0.01)
    file = tmp_path / "1.json"
    sighting = Sighting(file)
    assert (sighting.look(), sighting.is_alive) == ({}, False)
    with Presence(file, state="waits") as process:
        assert sighting.look()["state"] == "waits"
        assert sighting.is_alive
        process.update(state="runs")
        assert sighting.look()["state"] == "runs"
        beat = sighting.state["beat"]
        while sighting.look()["beat"] == beat:
            pass
    sighting.look()
    assert sighting.is_alive
    monkeypatch.setattr(presence, "LOST_SECONDS", 0.0)
    assert not sighting.is_alive


def test_presence_file_of_an_earlier_run_is_not_alive(tmp_path):
    file = tmp_path / "1.json"
    with Presence(file, state="runs"):
        pass
    sighting = Sighting(file)
    assert sighting.look()["state"] == "runs"
    assert not sighting.is_alive


@pytest.mark.parametrize("content", ["", '{"state": "ru'])
def test_half_written_presence_file_is_reread(tmp_path, content):
    file = tmp_path / "1.json"
    file.write_text(content)
    sighting = Sighting(file)
    assert sighting.look() == {}
    file.write_text(json.dumps({"state": "runs"}))
    assert sighting.look() == {"state": "runs"}
