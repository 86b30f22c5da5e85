"""A masked-token training step of transformers' own models: for an interpreter with torch and transformers.

    PYTHON -m benchmarks.peers.transformers_masked_tokens FAMILY SETTINGS FOLDER --rows 32 --length 128 --seconds 1

It makes a small model of the family with random weights, writes it to the folder, and says what the loss on the first
batch is in float32 and without dropout. Then it answers each mode with the seconds of a step. Its heads compute the
scores of the vocabulary for all tokens; the loss reads those of the masked ones. AdamW is PyTorch's fused one; bfloat16
is `torch.autocast`; all runs on a GPU if there is one; "compiled" is `torch.compile` of model and loss, "graphs" the
same as graphs of CUDA (`mode="reduce-overhead"`). An answer is a step or `--steps` of them, whose last loss is read.
"""

import argparse
import json
import logging
from pathlib import Path
from typing import Any

import torch
import transformers

from benchmarks.harness.contestants import answer
from benchmarks.harness.masked_batches import Step, make_batch, serve_steps, spread_labels

_IGNORED = -100  # transformers' mark of a token that the loss leaves out


def main() -> None:
    """Makes the model, and serves."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("family", help="`model_type`")
    parser.add_argument("settings", type=json.loads, help="of its configuration, as JSON")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, required=True)
    parser.add_argument("--length", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--steps", type=int, default=1)
    options = parser.parse_args()
    logging.disable()
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(options.family, **options.settings)
    model = transformers.AutoModelForMaskedLM.from_config(config)
    model.save_pretrained(options.folder)
    batch = make_batch(options.rows, options.length)
    inputs = {"input_ids": "token_ids", "attention_mask": "padding_mask"}
    arrays = {theirs: batch[ours] for theirs, ours in inputs.items()}
    arrays["labels"] = spread_labels(batch, _IGNORED)["mask_ids"]
    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = {name: torch.from_numpy(array).long().to(device) for name, array in arrays.items()}
    model.to(device)
    with torch.no_grad():
        loss = float(model.eval()(**given).loss)
    versions = {"torch": torch.__version__, "transformers": transformers.__version__}
    parameters = sum(parameter.numel() for parameter in model.parameters())
    answer({"versions": versions, "device": device, "loss": loss, "parameters": parameters})
    state = {name: tensor.clone() for name, tensor in model.state_dict().items()}

    def prepare(mode: str) -> Step:
        twin = transformers.AutoModelForMaskedLM.from_config(config)
        twin.load_state_dict(state)
        return make_steps(twin.train().to(device), given, mode, options.steps)

    serve_steps(prepare, options.seconds)


def make_steps(model: torch.nn.Module, given: dict[str, torch.Tensor], mode: str, steps: int) -> Step:
    """Steps of a mode: `float32` or `bfloat16`, and nothing, `compiled` or `graphs` behind it."""
    precision, *compiled = mode.split()
    modes = {"compiled": "default", "graphs": "reduce-overhead"}
    call = torch.compile(model, dynamic=False, mode=modes[compiled[0]]) if compiled else model
    optimizer = torch.optim.AdamW(groups(model, 0.01), lr=1e-4, betas=(0.9, 0.999), eps=1e-6, fused=True)

    def step() -> float:
        for _ in range(steps):
            with torch.autocast(given["labels"].device.type, torch.bfloat16, enabled=precision == "bfloat16"):
                loss = call(**given).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return float(loss.item())

    return step


def groups(model: torch.nn.Module, decay: float) -> list[dict[str, Any]]:
    """The parameters that decay, and those that do not."""
    named = list(model.named_parameters())
    exempt = [parameter for name, parameter in named if name.endswith("bias") or "norm" in name.lower()]
    rest = [parameter for name, parameter in named if not (name.endswith("bias") or "norm" in name.lower())]
    return [{"params": rest, "weight_decay": decay}, {"params": exempt, "weight_decay": 0.0}]


if __name__ == "__main__":
    main()
