"""Makes tests/golden/sentence_transformers with sentence-transformers itself: small folders and the vectors of texts.

    python -m tests.golden.sentence_transformers

Made with Python 3.11, torch 2.15.0, transformers 5.24.0, sentence-transformers 6.2.0. The encoder of all folders
is that of `hugging_face_bert_model`, which a test copies into them.
"""

import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Dense, Normalize, Pooling, Transformer

GOLDEN = Path(__file__).parent
HERE = GOLDEN / "sentence_transformers"
ENCODER = GOLDEN / "hugging_face_bert_model"
TEXTS = ["the cow", "the old bridge went by a cow and", "a"]
# A folder -> its poolings, and the width and the activation of its dense modules.
FOLDERS = {
    "max": ("max", []),
    "weightedmean": ("weightedmean", []),
    "lasttoken": ("lasttoken", [(6, torch.nn.Identity())]),
    "mean_sqrt_len_tokens": ("mean_sqrt_len_tokens", [(5, torch.nn.Tanh())]),
    "mean+max": (("mean", "max"), [(7, torch.nn.GELU()), (4, torch.nn.ReLU())]),
    "cls+mean": (("cls", "mean"), []),
}


def make(name: str) -> list[list[float]]:
    """Writes a folder without its encoder, and returns the vectors of the texts."""
    pooling, layers = FOLDERS[name]
    (HERE / name).mkdir()
    torch.manual_seed(0)
    transformer = Transformer(str(ENCODER))
    modules = [transformer, Pooling(transformer.get_embedding_dimension(), pooling_mode=pooling)]
    for units, activation in layers:
        width = modules[-1].get_embedding_dimension()
        modules.append(Dense(width, units, bias=units != 6, activation_function=activation))
    model = SentenceTransformer(modules=[*modules, Normalize()] if name == "max" else modules)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        for file in ("modules.json", "sentence_bert_config.json", "config_sentence_transformers.json"):
            shutil.copy(Path(folder) / file, HERE / name / file)
        for inner in Path(folder).glob("[1-9]_*"):
            shutil.copytree(inner, HERE / name / inner.name)
    return np.asarray(model.encode(TEXTS), "float64").tolist()


if __name__ == "__main__":
    shutil.rmtree(HERE, ignore_errors=True)
    HERE.mkdir()
    answers = {name: make(name) for name in FOLDERS}
    (HERE / "answers.json").write_text(json.dumps({"texts": TEXTS, "answers": answers}))
