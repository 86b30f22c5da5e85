"""What a comparison says: differences, what holds, and which losses are of the same thing."""

import math

import pytest

from plugins.compare.budget import Budget
from plugins.compare.content import AVERAGE, make_content
from plugins.compare.variants import ComparedVariant
from tests.pipeline.settings.texts import CORPUS, load


def variant(folder, name, *overrides):
    return ComparedVariant(name, load(folder, CORPUS, *overrides), {})


def score(*seeds):
    return {"metric": "accuracy", "rows": 872, "mean": sum(seeds) / len(seeds), "sd": 0.01, "seeds": list(seeds)}


def record(loss="masked_loss", **tasks):
    curve = [{"step": 9, "flops": 1e6, "seconds": 60.0, "loss": 4 * math.log(2)}]
    spent = {"steps": 9, "flops": 1e6, "seconds": 60.0, "loss": loss, "bytes_an_entry": 4.0, "curve": curve}
    return {"model": "m", "parameters": 1000, "tasks": tasks, "pretraining": spent}


def test_differences_are_from_the_first_and_those_that_hold_are_marked(tmp_path):
    variants = [variant(tmp_path, name) for name in ("base", "far", "near")]
    base = (0.70, 0.72, 0.71)
    content = make_content(
        "mine",
        variants,
        Budget("flops", 1e6),
        {
            "base": record(a=score(*base), b=score(0.5, 0.5, 0.5)),
            "far": record(a=score(0.80, 0.8201, 0.81), b=score(0.5, 0.51, 0.52)),
            # Differences of 2, 3 and 4 points: t = 3 sqrt(3) = 5.2, p = 0.035.
            "near": record(a=score(0.72, 0.75, 0.75), b=score(0.5, 0.5, 0.5)),
        },
    )
    assert (content["baseline"], content["seeds"], content["budget"]) == ("base", 3, {"unit": "flops", "amount": 1e6})
    assert list(content["variants"]) == ["base", "far", "near"]
    tasks = {name: entry["tasks"] for name, entry in content["variants"].items()}
    assert all("difference" not in scores for scores in tasks["base"].values())
    far, near = tasks["far"]["a"]["difference"], tasks["near"]["a"]["difference"]
    assert (far["mean"], far["significant"], far["holm"]) == (pytest.approx(0.10003, abs=1e-5), True, True)
    assert near["p"] == pytest.approx(1 - 3 * math.sqrt(3) / math.sqrt(2 + 27))
    assert (near["significant"], near["holm"]) == (True, False), "0.035 is more than 0.05 / 2"
    assert tasks["near"]["b"]["difference"]["p"] is None
    assert content["tests"] == 3, "neither averages, nor what has no spread"
    assert tasks["far"][AVERAGE]["seeds"] == pytest.approx([0.65, 0.66505, 0.665])
    assert tasks["far"][AVERAGE]["difference"]["mean"] == pytest.approx((0.10003 + 0.01) / 2, abs=1e-5)


def test_of_one_task_there_is_no_average(tmp_path):
    scores = make_content("mine", [variant(tmp_path, "base")], None, {"base": record(a=score(0.5))})
    assert list(scores["variants"]["base"]["tasks"]) == ["a"]
    assert (scores["seeds"], scores["half_width"], scores["budget"]) == (1, None, None)


@pytest.mark.parametrize(
    ("override", "unlike", "pieces_differ"),
    [
        ("masking.strategy=spans", ["masking"], False),
        ("vocabulary.size=9000", ["vocabulary"], True),
        ("pretraining_rows.objective=none", ["pretraining_rows.objective"], False),
        ("pretraining_rows.dynamic=true", [], False),
        ("encoder.num_layers=3", [], False),
    ],
)
def test_losses_of_other_predictions_do_not_compare(tmp_path, override, unlike, pieces_differ):
    variants = [variant(tmp_path, "base"), variant(tmp_path, "other", override)]
    content = make_content("mine", variants, None, {"base": record(), "other": record()})
    assert content["variants"]["base"]["pretraining"]["unlike"] == []
    assert content["variants"]["other"]["pretraining"]["unlike"] == unlike
    assert content["pieces_differ"] == pieces_differ


def test_losses_of_other_objectives_do_not_compare(tmp_path):
    variants = [variant(tmp_path, "base"), variant(tmp_path, "other")]
    content = make_content("mine", variants, None, {"base": record(), "other": record("replaced_loss")})
    assert content["variants"]["other"]["pretraining"]["unlike"] == ["replaced_loss"]


def test_losses_are_told_in_bits_a_byte(tmp_path):
    content = make_content("mine", [variant(tmp_path, "base")], None, {"base": record()})
    # Four bits a piece of four bytes.
    assert content["variants"]["base"]["pretraining"]["curve"][0]["bits_a_byte"] == pytest.approx(1.0)


def test_variants_that_are_not_done_are_left_out(tmp_path):
    variants = [variant(tmp_path, name) for name in ("base", "next", "last")]
    content = make_content("mine", variants, None, {"base": record(), "next": record()})
    assert list(content["variants"]) == ["base", "next"]
