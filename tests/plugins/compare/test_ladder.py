"""Which rungs a job has, and what is said of them."""

import pytest

from components.dsl.errors import InputError
from plugins.compare.ladder import _with_shares, find_rungs
from tests.pipeline.settings.texts import CHECKPOINT, CORPUS, EXAMPLES, load

ALL = "[student]\nnum_layers = 1\n[pruning]\n[quantization]\n"


def test_every_choice_of_parts_in_the_order_of_the_steps(tmp_path):
    assert list(find_rungs(load(tmp_path, CHECKPOINT + EXAMPLES + ALL))) == [
        "teacher",
        "student",
        "pruning",
        "quantization",
        "student+pruning",
        "student+quantization",
        "pruning+quantization",
        "student+pruning+quantization",
    ]
    rungs = find_rungs(load(tmp_path, CHECKPOINT + EXAMPLES + "[pruning]\n"))
    assert rungs == {"teacher": (), "pruning": ("pruning",)}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CHECKPOINT + EXAMPLES, r"^there must be \[examples\], and one or more of \[student\], \[pruning\], \[quant"),
        (CORPUS, r"^there must be \[examples\], and one or more of "),
        (
            CHECKPOINT + EXAMPLES + "[pruning]\n[export]\nruntimes = ['onnx']\n",
            r"^export.runtimes must hold 'tflite' for a ladder, got \['onnx'\]$",
        ),
    ],
)
def test_what_has_no_rungs(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        find_rungs(load(tmp_path, text))


def record(megabytes, *seeds):
    return {"megabytes": megabytes, "score": {"mean": sum(seeds) / len(seeds), "seeds": list(seeds)}}


def test_shares_are_of_the_same_seed_and_the_front_is_what_none_beats_in_both():
    steps = _with_shares(
        {
            "teacher": record(90, 0.8, 0.5),
            "small": record(8, 0.4, 0.5),
            "worse": record(9, 0.4, 0.4),
            "twin": record(8, 0.4, 0.5),
        }
    )
    assert [step["share"] for step in steps.values()] == pytest.approx([1, 0.75, 0.65, 0.75])
    assert [step["on_front"] for step in steps.values()] == [True, True, False, True]
