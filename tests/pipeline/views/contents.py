"""A comparison's content, as small as it may be."""

import io

from rich.console import Console


def screen(width=160, **settings):
    """A console whose file is text in memory."""
    return Console(file=io.StringIO(), width=width, **settings)


def lines_of(console):
    """The lines on a `screen`."""
    return console.file.getvalue().splitlines()


def cells(lines):
    """The cells of the rows of a table."""
    return [[cell.strip() for cell in line.split("│")[1:-1]] for line in lines if line.startswith("│")]


def headings(lines, name):
    """The headings of the table of which one heading begins with a name."""
    line = next(line for line in lines if line.startswith("┃") and name in line)
    return [cell.strip() for cell in line.strip("┃").split("┃")]


def pretraining(losses, unlike=(), flops=2e12):
    """What one variant spent, with as many points as losses."""
    shares = [(number + 1) / len(losses) for number in range(len(losses))]
    curve = [
        {"step": 10 * share, "flops": flops * share, "seconds": 90 * share, "loss": loss, "bits_a_byte": loss / 4}
        for share, loss in zip(shares, losses, strict=True)
    ]
    return {
        "steps": 1200,
        "flops": flops,
        "seconds": 90.0,
        "loss": "masked_loss",
        "curve": curve,
        "unlike": list(unlike),
    }


def score(mean, difference=None, metric="macro_f1"):
    """A metric over three seeds."""
    scores = {"metric": metric, "rows": 872, "mean": mean, "sd": 0.01, "seeds": [mean] * 3}
    return scores if difference is None else {**scores, "difference": difference}


def content(variants, **more):
    """Three seeds, and the first variant as the baseline."""
    basics = {"name": "mine", "baseline": next(iter(variants)), "budget": None, "seeds": 3, "half_width": 2.48}
    return {**basics, "tests": 2, "pieces_differ": False, "variants": variants, **more}
