"""All commands, by the goal that help lists them under."""

from importlib import import_module

import click

from pipeline.commands.command import PROGRAM

GROUPS = {
    "Make a model": ("init", "run", "shrink", "tune", "schema"),
    "Use a model": ("predict", "explain", "describe", "check"),
    "Choose settings": ("compare", "doctor"),
    "Look at runs, and clean up": ("show", "report", "diff", "gc"),
    "Run a job elsewhere": ("compile", "step"),
}


class Program(click.Group):
    """The program; it imports a command when that is called, or listed in help."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of help."""
        return [name for names in GROUPS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """The command of a name."""
        if cmd_name not in (names := self.list_commands(ctx)):
            raise click.exceptions.NoSuchCommand(cmd_name, possibilities=names, ctx=ctx)
        command: click.Command = getattr(import_module(f"pipeline.commands.{cmd_name}"), f"{cmd_name}_command")
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes a line for each command, below its goal."""
        for goal, names in GROUPS.items():
            with formatter.section(goal):
                formatter.write_dl(
                    [(name.ljust(8), self.get_command(ctx, name).get_short_help_str(66)) for name in names]
                )


@click.command(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80, "show_default": True},
    no_args_is_help=False,
    epilog="Exit status: 0 done, 1 a step failed, 2 bad input, 3 not good enough (model not blessed, limit not met, "
    "rows that differ), 130 interrupted.",
)
@click.version_option(package_name=PROGRAM, prog_name=PROGRAM, message="%(prog)s %(version)s")
def program() -> None:
    """Train a BERT on your text, or start from a checkpoint, and make a small, fast, measured model file for a device.

    COMMAND --help shows the options of a command, with an example.
    """
