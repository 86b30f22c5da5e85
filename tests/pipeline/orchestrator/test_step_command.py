"""The environment of processes that import Keras."""

import os
from pathlib import Path

from pipeline.orchestrator.step_command import without_keras_settings


def test_settings_of_keras_from_elsewhere_are_not_read(monkeypatch):
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    monkeypatch.delenv("KERAS_HOME", raising=False)
    with without_keras_settings():
        assert os.environ["KERAS_BACKEND"] == "tensorflow"
        assert not (Path(os.environ["KERAS_HOME"]) / "keras.json").exists()
    assert os.environ["KERAS_BACKEND"] == "jax"
    assert "KERAS_HOME" not in os.environ
