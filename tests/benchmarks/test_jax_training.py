"""The benchmark of `fit` on JAX runs on this machine at the smallest shape, on one device and on two."""

import math
import re
import subprocess
import sys

import keras
import pytest

pytestmark = pytest.mark.skipif(keras.backend.backend() != "jax", reason="the benchmark is of JAX")


@pytest.mark.parametrize("devices", [1, 2])
def test_it_prints_a_line_for_each_mode(monkeypatch, devices):
    monkeypatch.setenv("XLA_FLAGS", f"--xla_force_host_platform_device_count={devices}")
    arguments = "--rows 2 --length 16 --rounds 1 --seconds 0.01 --steps 2 --matrix 64 --precision bfloat16".split()
    command = [sys.executable, "-m", "benchmarks.jax_training", *arguments]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert re.search(rf"L2 H128, 2 x 16 tokens, \d+\.\d\d GFLOP a step, on {devices} device", printed)
    lines = re.findall(r"^\| keras on jax \| ([\w ]+) \| ([\d.]+) \| ([\d,]+) \| \d+% \|$", printed, re.MULTILINE)
    assert [mode for mode, *_ in lines] == ["bfloat16", "bfloat16 all tokens"]
    for _, milliseconds, speed in lines:
        assert float(speed.replace(",", "")) == pytest.approx(2 * 16 / float(milliseconds) * 1000, rel=0.1)


@pytest.mark.parametrize("everywhere", [False, True])
def test_fit_starts_at_the_loss_of_a_guess(everywhere):
    from benchmarks import jax_training
    from benchmarks.harness.masked_batches import VOCABULARY

    shape = jax_training.SHAPES["L2 H128"]._replace(rows=2, length=16)
    loss = jax_training.make_fit(shape, "bfloat16", 2, everywhere)()
    assert loss == pytest.approx(math.log(VOCABULARY), abs=0.3)
