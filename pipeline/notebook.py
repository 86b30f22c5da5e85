"""Runs a job step by step in a notebook: `Job("reviews.toml").run("fine_tune")`; `show` displays its outputs."""

import multiprocessing
from collections.abc import Iterable
from pathlib import Path

from components.dsl.artifact import Artifact
from components.dsl.errors import InputError
from pipeline.commands.command import absolute_path, open_address
from pipeline.job.checks import check_data
from pipeline.job.files import load_settings
from pipeline.orchestrator.preview import Preview, preview
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.runner import run_to_end
from pipeline.pipelines import build_pipeline
from pipeline.report.artifact_view import ArtifactView, show
from pipeline.views.terminal import Terminal, open_console, write_warnings

__all__ = ["ArtifactView", "Job", "show"]


class Job:
    """A job of `keras-bert-edge run`, to run step by step; it shares cached steps with the command.

    Args:
        settings: a TOML file; None for the default job.
        root: the folder of artifacts, metadata and logs, or its address.
        overrides: `key=value` pairs as after `--set`.

    Raises:
        InputError: the settings or the data cannot be used.
    """

    def __init__(
        self, settings: str | Path | None = None, root: str | Path = "runs", overrides: Iterable[str] = ()
    ) -> None:
        self._settings = load_settings(None if settings is None else Path(settings).absolute(), overrides)
        self._root = open_address(absolute_path(str(root)), is_root=True)
        write_warnings(open_console(), check_data(self._settings))
        self._pipeline = build_pipeline(self._settings, self._root)

    @property
    def steps(self) -> list[str]:
        """The names of all steps, in the order in which they run."""
        return [node.name for node in self._pipeline.nodes]

    def preview(self, to: str | None = None) -> list[Preview]:
        """Predicts what `run` would do with every step, and why; see `pipeline.orchestrator.preview`."""
        return preview(self._pipeline, self._root, Request(to=to))

    def run(self, to: str | None = None, *, force: bool = False) -> dict[str, Artifact]:
        """Runs a step and the steps that it depends on; returns the outputs of the step by name.

        A script calls it below `if __name__ == "__main__":`, because the processes of steps import the script.

        Args:
            to: the name of the step; None for the last one.
            force: whether to run the step even if it is cached.

        Raises:
            InputError: there is no such step, the user's input cannot be used, or a script calls it as it is imported.
            RunFailedError: a step failed or was refused.
        """
        # As `multiprocessing` asks before it starts a process.
        if getattr(multiprocessing.current_process(), "_inheriting", False):
            raise InputError(
                'a script must run a job below `if __name__ == "__main__":`, got a run while the process of a step '
                "imports the script"
            )
        name = to or self.steps[-1]
        request = Request(to=name, force=(name,) if force else ())
        observer = Terminal(open_console())
        options = self._settings.run_options()
        result = run_to_end(self._pipeline, self._root, request=request, observer=observer, **options)
        outputs = result.step(name).outputs
        for artifact in outputs.values():
            result.fetch(artifact)
        return outputs
