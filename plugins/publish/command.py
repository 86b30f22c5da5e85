"""`publish`: puts a pushed model on the Hugging Face hub."""

from types import SimpleNamespace

import click
from rich.console import Console

from pipeline.commands.command import DONE, PathOrAddress, Verb


@click.command(cls=Verb, goal="Use a model", example="publish runs/pushed/reviews/1 hf://OWNER/NAME")
@click.argument("model", type=PathOrAddress(), metavar="MODEL", help="A pushed version, such as runs/pushed/reviews/1.")
@click.argument("address", metavar="ADDRESS", help="The repository on the hub, hf://OWNER/NAME; made if there is none.")
@click.option("--public", is_flag=True, help="A repository that is made is open to all. Default: to its owner alone.")
def publish_command(options: SimpleNamespace, console: Console) -> int:
    """Publish a model on the Hugging Face hub, in one commit.

    The README.md of its folder becomes the model card. Needs HF_TOKEN, a token that may write. The same files again
    make no further commit.
    """
    from components.dsl.errors import input_errors
    from pipeline.views.terminal import write
    from plugins.publish.publishing import publish

    model = options.model
    # A version is named after its model, too.
    name = f"{model.parent.name}/{model.name}" if model.name.isdecimal() else model.name
    with input_errors(""):
        published = publish(model, options.address, private=not options.public, message=f"Publish {name}")
    done = "published" if published.is_new else "nothing has changed on"
    write(console, f"{done} {published.url}, commit {published.commit}")
    return DONE
