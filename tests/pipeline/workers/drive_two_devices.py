"""Runs a job on two devices: `python -m tests.pipeline.workers.drive_two_devices JOB ROOT`."""

import sys
from pathlib import Path

from pipeline.job.files import load_settings
from pipeline.orchestrator.executor import PRELOAD
from pipeline.orchestrator.runner import run_pipeline
from pipeline.pipelines import build_pipeline

if __name__ == "__main__":
    job, root = map(Path, sys.argv[1:])
    preload = (*PRELOAD, "tests.pipeline.workers.two_devices")
    result = run_pipeline(build_pipeline(load_settings(job), root), root, preload=preload)
    sys.exit(result.message or 0)
