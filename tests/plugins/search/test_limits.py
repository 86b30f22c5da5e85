"""Which limits are valid, what they allow, and the messages about limits that cannot be met."""

import pytest

from components.dsl.errors import InputError
from plugins.search.limits import Limits, check_limited, unmet_limits, violated_limits
from tests.pipeline.settings.texts import CHECKPOINT, EXAMPLES, load

LIMITS = Limits(megabytes=3.0, milliseconds=2.0, min_share=0.96)
ALL_LIMITS = LIMITS._replace(download_megabytes=2.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {},
            "--max-megabytes or --max-download-megabytes or --max-milliseconds must be given beside --min-share, got "
            "none of them",
        ),
        ({"megabytes": 0.0}, "--max-megabytes must be positive and finite, got 0"),
        ({"download_megabytes": 0.0}, "--max-download-megabytes must be positive and finite, got 0"),
        ({"milliseconds": -2.0}, "--max-milliseconds must be positive and finite, got -2"),
        ({"megabytes": 3.0, "milliseconds": float("nan")}, "--max-milliseconds must be positive and finite, got nan"),
        ({"megabytes": 3.0, "min_share": 1.5}, "--min-share must be from 0 to 1, got 1.5"),
    ],
)
def test_refuses_invalid_limits(options, message):
    with pytest.raises(InputError) as caught:
        Limits.of(**{"min_share": 0.9, **options})
    assert str(caught.value) == message


def test_a_measure_without_a_limit_is_allowed():
    assert Limits.of() is None
    limits = Limits.of(milliseconds=2.0)
    assert limits.min_share == 0.95
    assert limits.bounds() == {"milliseconds": 2.0}
    assert limits.allow({"megabytes": 1e9, "milliseconds": 2.0})
    assert not limits.allow({"megabytes": 0.0, "milliseconds": 2.1})
    download = Limits.of(download_megabytes=2.0)
    assert download.allow({"megabytes": 3.0, "download_megabytes": 2.0, "milliseconds": 9.0})
    assert not download.allow({"megabytes": 3.0, "download_megabytes": 2.1, "milliseconds": 9.0})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            CHECKPOINT + EXAMPLES + "[export]\nruntimes = ['onnx']\n",
            r"^export.runtimes must hold 'tflite' to search for a model within limits, got \['onnx'\]$",
        ),
        (
            CHECKPOINT + EXAMPLES + "[student]\nhidden_size = 64\n",
            r"^student.hidden_size must be left out: candidates keep the teacher's width, got 64$",
        ),
        (
            CHECKPOINT
            + EXAMPLES
            + "[student]\nnum_layers = 1\n[general_distillation]\npath = 'texts'\nrelations = 1.0\n",
            r"^general_distillation must be left out: every candidate would need a separate one$",
        ),
    ],
)
def test_refuses_a_job_that_cannot_be_searched(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        check_limited(load(tmp_path, text))


def test_a_miss_names_the_nearest_file_and_the_excess():
    small = {"megabytes": 3.5, "milliseconds": 1.0}
    assert unmet_limits({"small": small, "fits": {"megabytes": 3.0, "milliseconds": 2.0}}, LIMITS) == []
    (miss,) = unmet_limits({"small": small, "large": {"megabytes": 9.0, "milliseconds": 1.5}}, LIMITS)
    assert miss.describe() == "--max-megabytes 3 cannot be met: the smallest file, small, has 3.5 MB, 0.5 too many"
    two = unmet_limits({"slow": {"megabytes": 3.25, "milliseconds": 4.0}}, LIMITS)
    assert [one_miss.over for one_miss in two] == [0.25, 2.0]
    assert two[1].describe().endswith("the fastest file, slow, takes 4 ms, 2 too many")


def test_two_limits_that_no_candidate_meets_at_once():
    weights = {
        "slow": {"megabytes": 2.0, "milliseconds": 2.5},
        "large": {"megabytes": 9.0, "milliseconds": 1.0},
    }
    (miss,) = unmet_limits(weights, LIMITS)
    assert miss.describe() == "--max-milliseconds 2 cannot be met: slow, the nearest, has 2.5 of them, 0.5 too many"


def test_a_download_that_no_candidate_is_as_small_as():
    weights = {
        "small": {"megabytes": 2.0, "download_megabytes": 2.75, "milliseconds": 1.0},
        "dense": {"megabytes": 2.9, "download_megabytes": 2.7, "milliseconds": 1.0},
    }
    (miss,) = unmet_limits(weights, ALL_LIMITS)
    message = "the smallest file after deflate, dense, has 2.7 MB, 0.2 too many"
    assert miss.describe() == f"--max-download-megabytes 2.5 cannot be met: {message}"


def test_limits_that_a_trained_model_violates():
    assert violated_limits("best", {"megabytes": 3.0, "milliseconds": 2.0, "share": 0.96}, LIMITS) == []
    (miss,) = violated_limits("best", {"megabytes": 3.0, "milliseconds": 2.0, "share": 0.92}, LIMITS)
    assert miss.describe() == "--min-share 0.96 cannot be met: the best model, best, keeps 0.920, 0.04 too little"
