"""transformers' side of `benchmarks.long_input`: for an interpreter with torch and transformers.

    PYTHON -m benchmarks.peers.transformers_long_input FAMILY [--compiled]

Asked for a length, it answers with seconds and MB of a forward pass and of a training step. Attention is what
transformers takes by itself: of BERT PyTorch's `scaled_dot_product_attention`, which without dropout never holds all
scores at once. The scores of the vocabulary are computed for all tokens.
"""

import argparse
import logging

import torch
import transformers

from benchmarks.harness.contestants import answer, questions
from benchmarks.harness.long_shapes import VOCABULARY, settings_of
from benchmarks.harness.memory_peaks import measure


def main() -> None:
    """Serves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", help="`model_type`")
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--compiled", action="store_true", help="torch.compile, a graph for each length")
    options = parser.parse_args()
    logging.disable()
    torch.manual_seed(0)
    answer({"torch": torch.__version__, "transformers": transformers.__version__})
    for length in questions():
        answer(times_of(options.family, length, options.seconds, compiled=options.compiled))


def times_of(family: str, length: int, least: float, *, compiled: bool) -> list[tuple[float, float]]:
    """Seconds and MB of a forward pass, and of a step."""
    config = transformers.AutoConfig.for_model(family, **settings_of(family, length))
    # A new one for each length: one text that is short makes transformers' BigBird a BERT for good.
    model = transformers.AutoModelForMaskedLM.from_config(config)
    call = torch.compile(model, dynamic=False) if compiled else model
    ids = torch.randint(5, VOCABULARY, (1, length))
    labels = torch.full_like(ids, -100)
    labels[:, 5 : length : length // 20] = 7
    given = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def forward() -> None:
        with torch.inference_mode():
            call(**given)

    def step() -> None:
        call(**given, labels=labels).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    model.eval()
    figures = [measure(forward, least)]
    model.train()
    return [*figures, measure(step, least)]


if __name__ == "__main__":
    main()
