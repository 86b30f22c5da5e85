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

from keras_bert.checks import check
from keras_bert.explain.attention import Attention
from keras_bert.explain.attribution import Attribution
from keras_bert.explain.rollout import rollout
from keras_bert.explain.tokens import Array, Tokens

# A page whose attention takes more bytes than this in 8 bits holds it in 4.
_MOST_BYTES = 12_000_000


class Page:
    """A page that a notebook shows and a browser opens.

    Attributes:
        html: the whole document.

    Examples:
        >>> from keras_bert.explain import attributions
        >>> page = show(attributions(task, "film film"))
        >>> page.save("page.html")
    """

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page; an existing file is replaced as a whole.

        Raises:
            FileNotFoundError: the folder does not exist.
        """
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"Page.save.path must be in a folder that exists, got {target}")
        part = target.with_name(f".{target.name}.part")
        part.write_text(self.html, encoding="utf-8")
        part.replace(target)

    def _repr_html_(self) -> str:
        """The page in a frame of its own, so that the notebook's styles do not change it."""
        frame = "width:100%;height:48rem;border:0"
        rights = "allow-scripts allow-downloads"
        return f'<iframe srcdoc="{html.escape(self.html)}" style="{frame}" sandbox="{rights}"></iframe>'


def show(*items: Attention | Attribution, title: str = "Why this answer?", labels: Sequence[str] | None = None) -> Page:
    """Draws attributions as coloured words and attention head by head, with a small picture of every head, and rollout.

    Items of the same text stand together, attributions first. Weights of attention are rounded to 8 bits, or to 4 where
    the page would be larger than some 15 MB, and drawn when they are looked at.

    Args:
        items: results of `attributions` and `attentions`.
        title: the title of the page.
        labels: a heading for each attribution, such as the name of its model.

    Raises:
        TypeError: an item is neither an `Attention` nor an `Attribution`.
        ValueError: there are no items, or not as many labels as attributions.

    Examples:
        >>> from keras_bert.explain import attentions, attributions
        >>> page = show(attributions(task, "film"), *attentions(task, ["film"]))
        >>> "https://" in page.html
        False
    """
    check("show", "items", bool(items), "hold at least one item", "none")
    for item in items:
        if not isinstance(item, Attention | Attribution):
            raise TypeError(f"show.items must be results of `attributions` or `attentions`, got {item!r}")
    count = sum(isinstance(item, Attribution) for item in items)
    rule = f"be as many as the {count} attributions"
    check("show", "labels", labels is None or len(labels) == count, rule, len(labels or ()))
    headings = iter(labels if labels is not None else [""] * count)
    bits, packed = _pack_all([item.weights for item in items if isinstance(item, Attention)])
    packed_layers = iter(packed)
    sections: dict[tuple[str, ...], dict[str, Any]] = {}
    for item in items:
        empty: dict[str, Any] = {"text": " / ".join(item.row.texts), "attributions": [], "attentions": []}
        section = sections.setdefault(item.row.texts, empty)
        if isinstance(item, Attribution):
            section["attributions"].append(_attribution_data(item, next(headings)))
        else:
            section["attentions"].append(_attention_data(item, bits, next(packed_layers)))
    # A script ends at </script>, wherever that stands.
    data = json.dumps(list(sections.values()), ensure_ascii=True).replace("<", "\\u003c")
    parts = {"title": html.escape(title), "style": _read("page.css"), "data": data, "code": _read("page.js")}
    return Page(string.Template(_read("page.html")).substitute(parts))


def _read(name: str) -> str:
    return (importlib.resources.files("keras_bert.explain") / "page" / name).read_text(encoding="utf-8")


def _word_data(row: Tokens) -> list[tuple[str, int]]:
    """Each word with the number of its text."""
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


def _attention_data(attention: Attention, bits: int, packed: Sequence[str]) -> dict[str, Any]:
    row, (layers, heads, size, _) = attention.row, attention.weights.shape
    shares = np.zeros(len(row.word_texts))
    inside = row.words >= 0
    if layers:
        np.add.at(shares, row.words[inside], rollout(attention.weights)[-1, 0, inside])
    return {
        "tokens": attention.tokens,
        "weights": {"layers": packed, "heads": heads, "size": size, "bits": bits},
        "rollout": {"words": _word_data(row), "shares": _rounded(shares)},
    }


def _pack_all(weights: Sequence[Array]) -> tuple[int, list[list[str]]]:
    """The bits of a weight, and base64 of each layer of each matrix of weights (layers, heads, queries, keys)."""
    for bits in (8, 4):
        packed = [[_pack(layer, bits) for layer in layers] for layers in weights]
        if sum(len(part) for parts in packed for part in parts) <= _MOST_BYTES:
            break
    return bits, packed


def _pack(layer: Array, bits: int) -> str:
    """Weights as whole numbers, compressed; square roots keep small weights apart."""
    whole = np.rint(np.sqrt(np.clip(layer, 0, 1)) * (2**bits - 1)).astype("uint8").ravel()
    if bits == 4:
        pairs = np.pad(whole, (0, len(whole) % 2)).reshape(-1, 2)
        whole = pairs[:, 0] | (pairs[:, 1] << 4)
    return base64.b64encode(zlib.compress(whole.tobytes(), 6)).decode()


def _rounded(values: Array) -> list[float]:
    return [float(f"{value:.4g}") for value in values]
