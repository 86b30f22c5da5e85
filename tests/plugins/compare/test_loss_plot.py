"""The picture of losses: its files, which repeat, and names that do not lie upon each other."""

import pytest

from plugins.compare.loss_plot import FILES, draw_losses, spread
from tests.pipeline.views.contents import content, pretraining

LINES = {
    "base": {"pretraining": pretraining([4.0, 3.5, 3.2])},
    "spans $^$": {"pretraining": pretraining([4.4, 3.9, 3.21], ["masking"])},
    "start": {},
}


def test_names_stand_at_the_ends_and_equal_comparisons_give_equal_files(tmp_path):
    first, again = tmp_path / "first", tmp_path / "again"
    for folder in (first, again):
        folder.mkdir()
        assert draw_losses(content(LINES), folder) == [folder / name for name in FILES]
    assert all((first / name).read_bytes() == (again / name).read_bytes() for name in FILES)
    text = (first / FILES[0]).read_text()
    assert all(text.count(f">{name}<") == 2 for name in ("base", "spans $^$")), "once a panel, as text"
    assert ">start<" not in text
    assert "held-out loss, nats a prediction" in text
    assert ">1e12<" in text
    assert "dashed: other predictions than base's" in text


def test_losses_of_several_vocabularies_are_drawn_in_bits_a_byte(tmp_path):
    draw_losses(content({"base": LINES["base"]}, pieces_differ=True), tmp_path)
    text = (tmp_path / FILES[0]).read_text()
    assert "held-out loss, bits a byte" in text
    assert "dashed" not in text


def test_without_pre_training_there_is_nothing_to_draw(tmp_path):
    assert draw_losses(content({"start": {}}), tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("targets", "places"),
    [
        ([], []),
        ([1.0, 5.0, 9.0], [1.0, 5.0, 9.0]),
        ([1.0, 1.0], [0.5, 1.5]),
        ([1.0, 1.5, 1.5], [1 / 3, 4 / 3, 7 / 3]),
        # The last two push each other, and then the first.
        ([0.0, 1.4, 1.4], [-1 / 15, 14 / 15, 29 / 15]),
    ],
)
def test_names_are_moved_apart_as_little_as_may_be(targets, places):
    assert spread(targets, 1.0) == pytest.approx(places)
