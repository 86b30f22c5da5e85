"""Makes tests/golden/late_interaction with PyLate: the settings of two folders and the vectors of texts.

    python -m tests.golden.late_interaction

Made with Python 3.11, torch 2.10.0, transformers 5.3.0, sentence-transformers 5.3.0, pylate 1.6.0. The encoder of both
folders is that of `hugging_face_bert_model`; `write_pylate` and `write_original` write the folders.
"""

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file, save_file

GOLDEN = Path(__file__).parent
HERE = GOLDEN / "late_interaction"
ENCODER = GOLDEN / "hugging_face_bert_model"
TEXTS = ["the cow", "the old bridge , went by a cow and the old bridge went by a cow again", "a", "cow . bridge"]
# The tokens [Q] and [D] are those of the vocabulary that occur in no text.
SETTINGS = {
    "query_prefix": "sat",
    "document_prefix": "all",
    "query_length": 8,
    "document_length": 16,
    "attend_to_expansion_tokens": False,
    "skiplist_words": [".", ","],
    "do_query_expansion": True,
}
WEIGHT = np.random.default_rng(0).normal(size=(6, 16)).astype("float32")
PYLATE: dict[str, dict[str, Any]] = {
    "pylate": {},
    "attending": {"attend_to_expansion_tokens": True},
    "plain": {"do_query_expansion": False, "skiplist_words": [], "query_prefix": "", "document_prefix": ""},
}


def write_pylate(folder: Path, **changes: Any) -> Path:
    """A folder of PyLate with one dense module."""
    shutil.copytree(ENCODER, folder)
    types = {"": "sentence_transformers.models.Transformer", "1_Dense": "pylate.models.Dense.Dense"}
    modules = [{"idx": n, "name": str(n), "path": path, "type": types[path]} for n, path in enumerate(types)]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 24, "do_lower_case": false}')
    settings = {"model_type": "ColBERT", "prompts": {}, "similarity_fn_name": "MaxSim", **SETTINGS, **changes}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    (folder / "1_Dense").mkdir()
    dense = {"in_features": 16, "out_features": 6, "bias": False, "use_residual": False}
    dense["activation_function"] = "torch.nn.modules.linear.Identity"
    (folder / "1_Dense" / "config.json").write_text(json.dumps(dense))
    save_file({"linear.weight": WEIGHT}, folder / "1_Dense" / "model.safetensors")
    return folder


def write_original(folder: Path) -> Path:
    """A folder of the original code: the weight beside the encoder's, and its metadata."""
    shutil.copytree(ENCODER, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["HF_ColBERT"]}))
    tensors = {f"bert.{name}": array for name, array in load_file(folder / "model.safetensors").items()}
    save_file({**tensors, "linear.weight": WEIGHT}, folder / "model.safetensors", metadata={"format": "pt"})
    metadata = {"query_token_id": "sat", "doc_token_id": "all", "query_maxlen": 8, "doc_maxlen": 16}
    (folder / "artifact.metadata").write_text(json.dumps({**metadata, "attend_to_mask_tokens": False}))
    return folder


def make(folder: Path) -> dict[str, Any]:
    """The vectors of the texts as queries and as documents, pooled documents, and the scores of all pairs."""
    from pylate import models, scores

    model = models.ColBERT(str(folder), device="cpu")
    queries, passages, pooled = (
        model.encode(TEXTS, is_query=is_query, pool_factor=factor)
        for is_query, factor in ((True, 1), (False, 1), (False, 2))
    )
    pairs = [[float(scores.colbert_scores([query], [text])[0, 0]) for text in passages] for query in queries]
    vectors = {"query": queries, "passage": passages, "pooled": pooled}
    return {"scores": pairs, **{name: [rows.round(6).tolist() for rows in vectors[name]] for name in vectors}}


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        answers = {name: make(write_pylate(Path(place) / name, **changes)) for name, changes in PYLATE.items()}
        answers["original"] = make(write_original(Path(place) / "original"))
    (HERE / "answers.json").write_text(json.dumps(answers))
