"""Loads exported folders with transformers and writes down what it says; the tests start it, see test_hugging_face.py.

    python tests/golden/hugging_face_check.py FOLDER...

Each folder holds `inputs.npz`; it gets `outputs.npz` and `report.json`. Needs torch and transformers.
"""

import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers


def check(folder: Path) -> None:
    """Loads the model by its own architecture and the tokenizer, and runs both."""
    architecture = json.loads((folder / "config.json").read_text())["architectures"][0]
    model, keys = getattr(transformers, architecture).from_pretrained(folder, output_loading_info=True)
    content = dict(np.load(folder / "inputs.npz"))
    names = {"token_ids": "input_ids", "segment_ids": "token_type_ids", "padding_mask": "attention_mask"}
    if getattr(model.config, "type_vocab_size", 0) < 2:
        del names["segment_ids"]
    with torch.no_grad():
        outputs = model.eval()(**{names[name]: torch.tensor(content[name]).long() for name in names})
    np.savez(folder / "outputs.npz", **{name: value.numpy() for name, value in outputs.items()})
    token_ids = transformers.AutoTokenizer.from_pretrained(folder)(str(content["text"]))["input_ids"]
    report = {"keys": {name: sorted(map(str, tensors)) for name, tensors in keys.items()}, "token_ids": token_ids}
    (folder / "report.json").write_text(json.dumps(report))


if __name__ == "__main__":
    for argument in sys.argv[1:]:
        check(Path(argument))
