"""A command as its user meets it: what it prints, and the one line that refuses it."""

from pipeline.cli import main


def said(capture, *arguments):
    """What the command prints, which succeeds."""
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 0
    return capture.readouterr().out


def refused(capture, *arguments):
    """The one line, but for `error: `, of a command that is refused."""
    capture.readouterr()
    assert main([str(argument) for argument in arguments]) == 2
    (line,) = capture.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")
