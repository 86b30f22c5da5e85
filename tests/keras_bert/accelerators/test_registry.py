"""Accelerators of plug-ins by their names."""

import pytest

from keras_bert.accelerators.base import AcceleratorError
from keras_bert.accelerators.registry import find_accelerator, usual_chips
from tests.keras_bert.accelerators.stand_in import Chip


@pytest.mark.usefixtures("stand_in_accelerators")
def test_a_name_is_found_and_another_gets_the_nearest():
    assert type(find_accelerator("maker/other")) is Chip
    assert usual_chips() == ["maker/chip", "engine", "missing"]
    with pytest.raises(
        AcceleratorError,
        match=r"^an accelerator must be one of those that are installed \(Chip, Engine, MissingChip; other targets "
        r"are in export\.runtimes\), got 'Make/chip'; nearest: 'maker/chip'$",
    ):
        find_accelerator("Make/chip")


def test_without_plug_ins_the_group_of_entry_points_is_named(monkeypatch):
    monkeypatch.setattr("keras_bert.accelerators.registry.find_plugins", lambda kind: {})
    for ask in (usual_chips, lambda: find_accelerator("maker/chip")):
        with pytest.raises(
            AcceleratorError, match=r"found none; install a package with an entry .* 'keras_bert_edge\.accelerators'$"
        ):
            ask()
