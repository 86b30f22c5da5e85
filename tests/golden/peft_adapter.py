"""Makes the reference of tests/keras_bert/interop/test_peft.py with peft itself.

    python -m tests.golden.peft_adapter

Made with Python 3.11, torch 2.13.0, transformers 5.23.0, peft 0.21.2. Base and adapter are drawn from the names of
their tensors, so that nobody has to keep them.
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import peft
import torch
import transformers
from safetensors.torch import load_file

from tests.golden.drawn_weights import draw
from tests.golden.families import LABELS, SIZES, make_inputs

HERE = Path(__file__).parent / "peft.npz"


def main() -> None:
    """A classifier with an adapter beside three of the layers of each block."""
    config = transformers.BertConfig(**SIZES, id2label=LABELS)
    model = transformers.BertForSequenceClassification(config)
    base = {name: draw(name, tuple(tensor.shape)) for name, tensor in model.state_dict().items()}
    model.load_state_dict({name: torch.tensor(tensor) for name, tensor in base.items()})
    targets = ["query", "value", "intermediate.dense"]
    settings = peft.LoraConfig(
        task_type="SEQ_CLS", r=3, lora_alpha=6, lora_dropout=0.1, target_modules=targets, modules_to_save=["pooler"]
    )
    adapted = peft.get_peft_model(model, settings).eval()
    with tempfile.TemporaryDirectory() as folder:
        adapted.save_pretrained(folder)
        said = json.loads((Path(folder) / "adapter_config.json").read_text())
        held = load_file(Path(folder) / "adapter_model.safetensors")
    tensors = {name: draw(name, tuple(tensor.shape)) for name, tensor in held.items()}
    peft.set_peft_model_state_dict(adapted, {name: torch.tensor(tensor) for name, tensor in tensors.items()})
    inputs = make_inputs(0)
    given = {"input_ids": "token_ids", "token_type_ids": "segment_ids", "attention_mask": "padding_mask"}
    with torch.no_grad():
        logits = adapted(**{theirs: torch.tensor(inputs[ours]).long() for theirs, ours in given.items()}).logits
    shapes = {name: tensor.shape for name, tensor in tensors.items()}
    of_base = {name: tensor.shape for name, tensor in base.items()}
    texts = {"config": config.to_json_string(), "adapter": json.dumps(said)}
    texts |= {"shapes": json.dumps(shapes), "base_shapes": json.dumps(of_base)}
    np.savez_compressed(HERE, **inputs, **texts, logits=logits.numpy())


if __name__ == "__main__":
    main()
