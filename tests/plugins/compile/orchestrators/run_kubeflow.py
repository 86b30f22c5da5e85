"""Runs a compiled pipeline with kfp's local runner; in an interpreter with kfp: `run_kubeflow.py FILE FOLDER`."""

import sys

from kfp import components, local
from kfp.local.subprocess_task_handler import SubprocessTaskHandler

if __name__ == "__main__":
    file, folder = sys.argv[1:]
    # Without an engine for containers: kfp runs a command as a process only if it is a Python function of kfp's own.
    SubprocessTaskHandler.validate_not_container_component = lambda self, full_command: None
    local.init(runner=local.SubprocessRunner(use_venv=False), pipeline_root=folder, raise_on_error=True)
    components.load_component_from_file(file)()
