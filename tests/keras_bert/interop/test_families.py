"""The families of Hugging Face: their answers, and their files, bit by bit; no tokenizer, so any Keras backend."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_bert.core.config import EncoderConfig
from keras_bert.core.plugins import find_plugins
from keras_bert.families.bert.hugging_face import BERT
from keras_bert.families.registry import FAMILIES, family_of, find_family
from keras_bert.interop import hugging_face_config
from keras_bert.interop.hugging_face import read_model, to_hugging_face
from keras_bert.models.encoder import build_encoder, config_of, has_layer, input_names
from keras_bert.models.saving import load_model, save_model
from keras_bert.tasks.registry import TASKS
from tests.golden.drawn_weights import draw
from tests.keras_bert.interop.checkpoints import GOLDEN, check_equal_weights, make_tokenizer, run
from tests.samples import long_but

FILES = sorted((GOLDEN / "families").glob("*.npz"))
# Families whose heads have the names of another one's; of these, and of tags, `make test-long` tries the other files.
ALIKE = ("Camembert", "Data2VecText", "Ernie", "RobertaPreLayerNorm", "XLMRoberta")
FEW = [
    file
    for file in FILES
    if file.stem.endswith(("Model", "ForMaskedLM", "ModernBertForTokenClassification"))
    or (not file.stem.startswith(ALIKE) and not file.stem.endswith("ForTokenClassification"))
]
# Ending of a class -> our outputs and transformers'.
OUTPUTS = {
    "ElectraForPreTraining": {"": "logits"},
    "Model": {"sequence_output": "last_hidden_state", "pooled_output": "pooler_output"},
    "ForMaskedLM": {"masked_tokens": "logits"},
    "ForPreTraining": {"masked_tokens": "prediction_logits", "next_sentence": "sop_logits"},
    "ForSequenceClassification": {"": "logits"},
    "ForTokenClassification": {"": "logits"},
}
SHAPE = {"num_layers": 2, "hidden_size": 8, "num_heads": 2, "intermediate_size": 12, "vocabulary_size": 30}


def head_of(file):
    return next(ending for ending in (*OUTPUTS, "ForQuestionAnswering") if file.stem.endswith(ending))


def unpack(file, folder):
    """The folder that transformers wrote, and all else that the file holds."""
    content = dict(np.load(file))
    folder.mkdir()
    (folder / "config.json").write_text(str(content.pop("config")))
    shapes = json.loads(str(content.pop("shapes")))
    save_file({name: draw(name, shape) for name, shape in shapes.items()}, folder / "model.safetensors")
    return folder, content


@pytest.mark.parametrize("file", long_but(FEW, FILES), ids=[file.stem for file in FILES])
def test_a_folder_goes_in_and_out(file, tmp_path):
    folder, content = unpack(file, tmp_path / "theirs")
    model = read_model(folder)
    family, said = hugging_face_config.read_config(folder)
    real = content["padding_mask"].astype(bool)
    outputs = run(model, content)
    if head_of(file) == "ForQuestionAnswering":
        if said["model_type"] == "big_bird":  # of the question, what transformers leaves is -1e6, rounded to 1/16
            real &= content["segment_ids"] == 1
            assert (outputs[:, 1:3] < -100).all()
        for index, name in enumerate(("start", "end")):
            np.testing.assert_allclose(outputs[real][:, index], content[f"output_{name}_logits"][real], atol=2e-5)
    else:
        for ours, theirs in OUTPUTS[head_of(file)].items():
            if theirs == "sop_logits" and "output_sop_logits" not in content:  # what ALBERT alone calls so
                theirs = "seq_relationship_logits"
            if f"output_{theirs}" not in content:  # a family without a pooler
                assert ours not in outputs
                continue
            expected, result = content[f"output_{theirs}"], outputs[ours] if ours else outputs
            chosen = real if expected.shape[:2] == real.shape else slice(None)
            np.testing.assert_allclose(result[chosen], expected[chosen], atol=2e-5)

    if head_of(file) == "Model":
        save_model(model, tmp_path / "model.keras")
        check_equal_weights(load_model(tmp_path / "model.keras"), model)

    head = hugging_face_config.read_head(folder, family, said)
    settings = {"labels": head.labels} if head.labels else {}
    if head.task == "question_answering":
        settings = {"max_query_length": 4, "stride": 4}
    pieces = [str(number) for number in range(config_of(model).vocabulary_size)]
    tokenizer = make_tokenizer(pieces, said["pad_token_id"])
    task = TASKS[head.task](model, tokenizer, max_length=config_of(model).max_length, **settings)
    to_hugging_face(task, tmp_path / "ours", family=family.name)
    before, after = (load_file(place / "model.safetensors") for place in (folder, tmp_path / "ours"))
    if not has_layer(model, "pooler") or family.text_head:  # what no answer of such a head depends on
        before = {name: array for name, array in before.items() if name in after or not name.startswith(family.unread)}
    assert {name: array.tobytes() for name, array in before.items()} == {
        name: array.tobytes() for name, array in after.items()
    }
    written = json.loads((tmp_path / "ours" / "config.json").read_text())
    assert written["architectures"] == said["architectures"]
    again, read_content = hugging_face_config.read_config(tmp_path / "ours")
    assert hugging_face_config.read_encoder(tmp_path, again, read_content) == hugging_face_config.read_encoder(
        tmp_path, family, said
    )


def test_every_class_has_a_reference():
    plugged = {family.name for plugin in find_plugins("family_formats").values() for family in plugin.load()}
    built_in = (family for family in FAMILIES.values() if family is not BERT and family.name not in plugged)
    classes = {name for family in built_in for name in family.architectures()}
    assert {file.stem.rpartition("-")[2] for file in FILES} == classes


@pytest.mark.parametrize(("num_segments", "names"), [(0, 2), (1, 2), (2, 3)])
def test_a_family_without_segments_does_not_ask_for_them(num_segments, names):
    model = build_encoder(EncoderConfig(**SHAPE, num_segments=num_segments), pooler=False)
    assert input_names(model) == ["token_ids", "segment_ids", "padding_mask"][:: 4 - names]


@pytest.mark.parametrize(
    ("settings", "name", "expected"),
    [
        ({}, None, "bert"),
        ({}, "electra", "electra"),
        ({"num_segments": 0}, None, "distilbert"),
        ({"num_segments": 1, "position_offset": 2}, None, "roberta"),
        ({"num_segments": 1, "position_offset": 2}, "camembert", "camembert"),
        ({"embedding_size": 4}, None, "electra"),
        ({"embedding_size": 4, "shared_layers": True}, None, "albert"),
    ],
)
def test_the_family_of_an_encoder(settings, name, expected):
    assert family_of(EncoderConfig(**SHAPE, **settings), name, pooler=False).name == expected


def test_an_encoder_of_another_family():
    config, odd = EncoderConfig(**SHAPE, num_segments=1), EncoderConfig(**SHAPE, position_offset=3)
    with pytest.raises(ValueError, match="family 'roberta' does not fit: position_offset must be 2, got 0"):
        family_of(config, "roberta", pooler=False)
    with pytest.raises(ValueError, match=r"of no family that Hugging Face has: .*'bert': 'position_offset must be 0"):
        family_of(odd, None, pooler=False)
    gelu = EncoderConfig(**SHAPE, pooler_activation="gelu_erf")
    assert family_of(gelu, None, pooler=False).name == "bert"
    assert family_of(gelu, None, pooler=True).name == "electra"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "distillbert",
            "model_type must be a family of docs/families.md, got 'distillbert'; the nearest is 'distilbert'",
        ),
        ("convbert", "config.json: model_type 'convbert' is not supported: its graph is none of this library's; use"),
        ("qwen3", "model_type 'qwen3' is not supported: it is a decoder, .*; use an encoder, or its outputs as soft"),
        ("ibert", "got 'ibert'$"),
        ("xlm_roberta", "; the nearest is 'xlm-roberta'$"),
        (None, r"model_type must be a family of docs/families.md, got None$"),
    ],
)
def test_unknown_families(name, message):
    with pytest.raises(ValueError, match=message):
        find_family(name, "config.json")
