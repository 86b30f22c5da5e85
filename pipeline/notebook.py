"""A job step by step, for notebooks: `Job("reviews.toml").run("fine_tune")`, then `show` what it made."""

from collections.abc import Iterable
from pathlib import Path

from components.dsl.artifact import Artifact
from pipeline.orchestrator.preview import Preview, preview
from pipeline.orchestrator.request import Request
from pipeline.orchestrator.runner import BrokenError, run_pipeline
from pipeline.pipelines import whole
from pipeline.report.shown import Shown, show
from pipeline.settings.files import load_settings
from pipeline.settings.rules import check_data
from pipeline.views.terminal import Terminal, open_console

__all__ = ["Job", "Shown", "show"]


class Job:
    """What `keras-bert-edge run` runs, in parts. Steps that are done and unchanged are found done here, too.

    Args:
        settings: a TOML file; the default job if None.
        root: where artifacts live.
        overrides: `key=value`, as after `--set`.

    Raises:
        InputError: the settings or the data cannot be used.
    """

    def __init__(
        self, settings: str | Path | None = None, root: str | Path = "runs", overrides: Iterable[str] = ()
    ) -> None:
        self._settings = load_settings(None if settings is None else Path(settings).absolute(), overrides)
        self._root = Path(root).absolute()
        check_data(self._settings)
        self._pipeline = whole(self._settings, self._root)

    @property
    def steps(self) -> list[str]:
        """The names of all steps, in the order in which they run."""
        return [node.name for node in self._pipeline.nodes]

    def preview(self, to: str | None = None) -> list[Preview]:
        """What `run` would do with each step, and why; see `pipeline.orchestrator.preview`."""
        return preview(self._pipeline, self._root, Request(to=to))

    def run(self, to: str | None = None, *, force: bool = False) -> dict[str, Artifact]:
        """Runs a step and those that it needs; gives what it made, by name.

        Args:
            to: its name; the last one if None.
            force: whether it runs even if it is done.

        Raises:
            InputError: there is no such step, or something the user gave cannot be used.
            BrokenError: a step broke, or was refused.
        """
        name = to or self.steps[-1]
        request = Request(to=name, force=(name,) if force else ())
        observer = Terminal(open_console())
        options = self._settings.run_options()
        result = run_pipeline(self._pipeline, self._root, request=request, observer=observer, **options)
        if result.state != "done":
            raise BrokenError(result.message)
        return result.step(name).outputs
