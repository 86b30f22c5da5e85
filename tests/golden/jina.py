"""A reference of JinaBERT v2, which transformers has not: BERT with ALiBi as its mask, and gated feed-forward layers.

Written from Guenther et al. 2023, section 3.1, Press et al. 2022, and the names of the published tensors.
"""

import math
from typing import Any

import torch
import transformers
from torch import nn
from torch.nn import functional

JinaBertConfig = transformers.BertConfig


class Gate(nn.Module):
    """LayerNorm(x + wo(gelu(a) * b)) of the two halves a and b of a projection without bias."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.gated_layers = nn.Linear(config.hidden_size, 2 * config.intermediate_size, bias=False)
        self.wo = nn.Linear(config.intermediate_size, config.hidden_size)
        self.layernorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        first, second = self.gated_layers(x).chunk(2, dim=-1)
        return self.layernorm(x + self.wo(functional.gelu(first) * second))


def slopes(heads: int) -> list[float]:
    """The slopes of ALiBi, by the recursion of its released code."""
    if math.log2(heads).is_integer():
        start = 2 ** (-(2 ** -(math.log2(heads) - 3)))
        return [start * start**index for index in range(heads)]
    power = 2 ** math.floor(math.log2(heads))
    return slopes(power) + slopes(2 * power)[0::2][: heads - power]


def biased(mask: torch.Tensor, heads: int) -> torch.Tensor:
    """The padding mask (batch, length) as a bias of scores (batch, heads, length, length), with ALiBi."""
    places = torch.arange(mask.shape[1])
    linear = -torch.tensor(slopes(heads))[:, None, None] * (places[:, None] - places[None, :]).abs()
    return linear[None] + (1.0 - mask.float())[:, None, None, :] * torch.finfo(torch.float32).min / 2


def change(model: nn.Module, encoder: Any) -> None:
    """Makes the encoder of a BERT a JinaBERT."""
    del encoder.embeddings.position_embeddings
    encoder.embeddings.position_embeddings = lambda places: 0.0
    for layer in encoder.encoder.layer:
        del layer.intermediate, layer.output
        layer.mlp = Gate(encoder.config)
        layer.__dict__["feed_forward_chunk"] = layer.mlp.forward
    forward, heads = model.forward, encoder.config.num_attention_heads

    def call(*inputs: Any, attention_mask: torch.Tensor, **named: Any) -> Any:
        return forward(*inputs, attention_mask=biased(attention_mask, heads), **named)

    model.__dict__["forward"] = call


def _changed(name: str) -> Any:
    base = getattr(transformers, f"Bert{name}")

    def build(self: Any, config: Any) -> None:
        config._attn_implementation = "eager"
        base.__init__(self, config)
        change(self, getattr(self, "bert", self))

    return type(f"JinaBert{name}", (base,), {"__init__": build})


JinaBertModel = _changed("Model")
JinaBertForMaskedLM = _changed("ForMaskedLM")
JinaBertForSequenceClassification = _changed("ForSequenceClassification")
JinaBertForTokenClassification = _changed("ForTokenClassification")
JinaBertForQuestionAnswering = _changed("ForQuestionAnswering")
