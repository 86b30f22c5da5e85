"""A page of attributions and attention: one HTML file that needs no network, for notebooks and for the disk."""

import base64
import html
import importlib.resources
import json
import os
import string
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keras_bert.core.checks import check
from keras_bert.core.folders import replaced_file
from plugins.explain.attention import Attention, rollout
from plugins.explain.attribution import Attribution
from plugins.explain.heads import HeadStatistics
from plugins.explain.tokens import Array, Tokens

# A page whose attention takes more bytes than this in 8 bits holds it in 4.
_MOST_BYTES = 12_000_000


class Page:
    """A page that a notebook shows and a browser opens.

    Examples:
        >>> from plugins.explain import attributions
        >>> page = show(attributions(task, "film film"))
        >>> page.save("page.html")
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page; an existing file is replaced as a whole.

        Raises:
            FileNotFoundError: the folder does not exist.
            IsADirectoryError: the path is a folder.
        """
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"Page.save.path must be in a folder that exists, got {target}")
        if target.is_dir():
            raise IsADirectoryError(f"Page.save.path must be a file, got the folder {target}")
        with replaced_file(target) as unfinished:
            unfinished.write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that the notebook's styles do not change it."""
        frame = "width:100%;height:48rem;border:0"
        rights = "allow-scripts allow-downloads"
        return f'<iframe srcdoc="{html.escape(self.html)}" style="{frame}" sandbox="{rights}"></iframe>'


Item = Attention | Attribution | HeadStatistics


def show(*items: Item, title: str = "Why this answer?", labels: Sequence[str] | None = None) -> Page:
    """Draws attributions as coloured words and attention head by head, with a small picture of every head, and rollout.

    Items of the same text stand together, attributions first; statistics of heads are points in the plane. Weights of
    attention are rounded to 8 bits, or to 4 where the page would be larger than some 15 MB, and drawn when they are
    looked at.

    Args:
        items: results of `attributions`, `attentions` and `head_statistics`.
        title: the title of the page.
        labels: a heading for each item, such as the name of its model.

    Raises:
        TypeError: an item is another object.
        ValueError: there are no items, not as many labels as items, or statistics without distances.

    Examples:
        >>> from plugins.explain import attentions, attributions
        >>> page = show(attributions(task, "film"), *attentions(task, ["film"]))
        >>> "https://" in page.html
        False
    """
    check("show", "items", bool(items), "hold at least one item", "none")
    for item in items:
        if not isinstance(item, Item):
            rule = "results of `attributions`, `attentions` or `head_statistics`"
            raise TypeError(f"show.items must be {rule}, got {item!r}")
    rule = f"be as many as the {len(items)} items"
    check("show", "labels", labels is None or len(labels) == len(items), rule, len(labels or ()))
    weights = [item.weights for item in items if isinstance(item, Attention)]
    for bits in (8, 4):
        packed = [[_pack(layer, bits) for layer in layers] for layers in weights]
        if sum(len(part) for parts in packed for part in parts) <= _MOST_BYTES:
            break
    packed_layers = iter(packed)
    sections: dict[tuple[str, ...], dict[str, Any]] = {}
    for item, label in zip(items, labels or [""] * len(items), strict=True):
        texts = ("Attention heads",) if isinstance(item, HeadStatistics) else item.row.texts
        empty: dict[str, Any] = {"text": " / ".join(texts), "attributions": [], "heads": [], "attentions": []}
        section = sections.setdefault(texts, empty)
        if isinstance(item, Attribution):
            section["attributions"].append(_attribution_data(item, label))
        elif isinstance(item, HeadStatistics):
            section["heads"].append(_head_data(item, label))
        else:
            section["attentions"].append(_attention_data(item, label, bits, next(packed_layers)))
    # A script ends at </script>, wherever that stands.
    data = json.dumps(list(sections.values()), ensure_ascii=True).replace("<", "\\u003c")
    parts = {"title": html.escape(title), "style": _read("page.css"), "data": data, "code": _read("page.js")}
    return Page(string.Template(_read("page.html")).substitute(parts))


def _read(name: str) -> str:
    return (importlib.resources.files("plugins.explain") / "page" / name).read_text(encoding="utf-8")


def _word_data(row: Tokens) -> list[tuple[str, int]]:
    firsts = np.unique(row.words, return_index=True)[1][-len(row.word_texts) or len(row.words) :]
    return [(word, int(row.segments[first])) for word, first in zip(row.word_texts, firsts, strict=True)]


def _attribution_data(attribution: Attribution, label: str) -> dict[str, Any]:
    return {
        "label": label,
        "method": attribution.method.replace("_", " ").capitalize(),
        "target": attribution.target,
        "score": attribution.score,
        "baseline_score": attribution.baseline_score,
        "gap": attribution.gap,
        "words": _word_data(attribution.row),
        "shares": _rounded(attribution.by_word()),
    }


def _head_data(statistics: HeadStatistics, label: str) -> dict[str, Any]:
    rule = "have distances to be drawn; leave distances=False out of head_statistics"
    check("show", "items", statistics.positions is not None, rule, "none")
    assert statistics.positions is not None
    return {
        "label": label,
        "kinds": statistics.kind.tolist(),
        "positions": [_rounded(position) for position in statistics.positions],
    }


def _attention_data(attention: Attention, label: str, bits: int, packed: Sequence[str]) -> dict[str, Any]:
    row, (layers, heads, size, _) = attention.row, attention.weights.shape
    shares = np.zeros(len(row.word_texts))
    inside = row.words >= 0
    if layers:
        np.add.at(shares, row.words[inside], rollout(attention.weights)[-1, row.cls_index, inside])
    return {
        "label": label,
        "tokens": attention.tokens,
        "weights": {"layers": packed, "heads": heads, "size": size, "bits": bits},
        "rollout": {"words": _word_data(row), "shares": _rounded(shares)},
    }


def _pack(layer: Array, bits: int) -> str:
    """Weights (heads, queries, keys) as whole numbers, compressed, in base64; square roots keep small ones apart."""
    whole = np.rint(np.sqrt(np.clip(layer, 0, 1)) * (2**bits - 1)).astype("uint8").ravel()
    if bits == 4:
        pairs = np.pad(whole, (0, len(whole) % 2)).reshape(-1, 2)
        whole = pairs[:, 0] | (pairs[:, 1] << 4)
    return base64.b64encode(zlib.compress(whole.tobytes(), 6)).decode()


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
