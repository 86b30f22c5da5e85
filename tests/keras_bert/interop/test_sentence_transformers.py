import json

import pytest

from keras_bert.interop.sentence_transformers import PoolingSettings, read_pooling, write_pooling
from keras_bert.options.data import Prompts
from tests.keras_bert.interop.checkpoints import change_json


@pytest.mark.parametrize(
    "pooled",
    [
        PoolingSettings("mean", True, 20),
        PoolingSettings("cls", False, 30),
        PoolingSettings("mean", True, 20, Prompts(query="query: ", passage="passage: ")),
        PoolingSettings("mean", True, 20, Prompts(query="Represent this sentence: ")),
        PoolingSettings("cls", False, 30, similarity_function="dot"),
    ],
)
def test_what_is_written_is_read(pooled, tmp_path):
    write_pooling(tmp_path, pooled, 8)
    assert read_pooling(tmp_path) == pooled


@pytest.mark.parametrize("prompts", ["query: ", {"query": 1}])
def test_prompts_that_are_no_texts(prompts, tmp_path):
    write_pooling(tmp_path, PoolingSettings(), 8)
    (tmp_path / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))
    with pytest.raises(ValueError, match=r"config_sentence_transformers\.json: prompts must be texts by name, got "):
        read_pooling(tmp_path)


def test_no_files(tmp_path):
    assert read_pooling(tmp_path) == PoolingSettings("mean", True, None)


@pytest.mark.parametrize("mode", ["cls", ["cls"]])
def test_version_6(mode, tmp_path):
    places = ("base.modules.transformer.Transformer", "sentence_transformer.modules.pooling.Pooling")
    modules = [
        {"path": path, "type": f"sentence_transformers.{place}"} for path, place in zip(("", "p"), places, strict=True)
    ]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "config.json").write_text(json.dumps({"embedding_dimension": 8, "pooling_mode": mode}))
    assert read_pooling(tmp_path) == PoolingSettings("cls", False, None)


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        (
            "1_Pooling/config.json",
            {"pooling_mode_cls_token": True},
            r"must be one of \['cls', 'mean'\], got \['cls', 'me",
        ),
        ("1_Pooling/config.json", {"pooling_mode": "weightedmean"}, r"got \['weightedmean'\], which is not supported"),
        ("config_sentence_transformers.json", {"default_prompt_name": "query"}, "default_prompt_name must be absent"),
        ("config_sentence_transformers.json", {"similarity_fn_name": "maxsim"}, "similarity_fn_name must be one of"),
    ],
)
def test_what_an_embedding_does_not_do(file, changes, message, tmp_path):
    write_pooling(tmp_path, PoolingSettings("mean", True, 20), 8)
    (tmp_path / "config_sentence_transformers.json").write_text("{}")
    change_json(tmp_path / file, **changes)
    with pytest.raises(ValueError, match=message):
        read_pooling(tmp_path)


@pytest.mark.parametrize("names", [["Transformer", "Pooling", "Dense"], ["Pooling"], []])
def test_other_modules(names, tmp_path):
    modules = [{"path": "", "type": f"sentence_transformers.models.{name}"} for name in names]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(
        ValueError, match="must list a Transformer in this folder, a Pooling and perhaps a Normalize, got"
    ):
        read_pooling(tmp_path)


def test_a_transformer_in_another_folder(tmp_path):
    write_pooling(tmp_path, PoolingSettings(), 8)
    modules = json.loads((tmp_path / "modules.json").read_text())
    modules[0]["path"] = "0_BERT"
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    message = r"modules\.json must have its Transformer in this folder, with the path '', got '0_BERT': move its"
    with pytest.raises(ValueError, match=message):
        read_pooling(tmp_path)


def test_a_length_of_another_kind(tmp_path):
    modules = [{"path": "", "type": f"sentence_transformers.models.{name}"} for name in ("Transformer", "Pooling")]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    (tmp_path / "sentence_bert_config.json").write_text('{"max_seq_length": "256"}')
    with pytest.raises(ValueError, match=r"sentence_bert_config.json: max_seq_length must be .* at least 3, got '256'"):
        read_pooling(tmp_path)


def test_a_mean_without_the_tokens_of_prompts(tmp_path):
    for pooling, prompts, refused in (
        ("mean", Prompts(), False),
        ("cls", Prompts(query="query: "), False),
        ("mean", Prompts(query="query: "), True),
    ):
        folder = tmp_path / f"{pooling}{refused}"
        folder.mkdir()
        write_pooling(folder, PoolingSettings(pooling, prompts=prompts), 8)
        change_json(folder / "1_Pooling" / "config.json", include_prompt=False)
        if not refused:
            assert read_pooling(folder).pooling == pooling
            continue
        with pytest.raises(ValueError, match=r"config\.json: include_prompt must be true where queries .* got false$"):
            read_pooling(folder)
