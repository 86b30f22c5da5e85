import json

import pytest

from keras_bert.interop.hugging_face_config import check_folder
from keras_bert.interop.sentence_transformers import (
    PoolingSettings,
    makes_vectors,
    read_pooling,
    read_prompts,
    transformer_folder,
    write_pooling,
)
from keras_bert.options.data import Prompts
from tests.keras_bert.interop.checkpoints import change_json, copy_golden


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


PROMPTS = "config_sentence_transformers.json"
NO_TEXTS = r"config_sentence_transformers\.json: prompts must be texts by name, got "
TWO_PROMPTS = {"default_prompt_name": "document", "prompts": {"query": "q: ", "document": "d: "}}


@pytest.mark.parametrize(
    ("file", "changes", "message"),
    [
        (PROMPTS, {"prompts": "query: "}, NO_TEXTS),
        (PROMPTS, {"prompts": {"query": 1}}, NO_TEXTS),
        (PROMPTS, {"default_prompt_name": "query"}, r"must be one of \[\], got 'query'"),
        (PROMPTS, TWO_PROMPTS, "name the prompt of queries, 'q: ', which single texts get here, got 'docu"),
        (PROMPTS, {"similarity_fn_name": "maxsim"}, "similarity_fn_name must be one of"),
        (PROMPTS, {"truncate_dim": 0}, "truncate_dim must be a whole number above 0, got 0"),
        (PROMPTS, {"truncate_dim": 4, "similarity_fn_name": "dot"}, "similarity_fn_name must be 'cosine', got 'dot'"),
        ("1_Pooling/config.json", {"pooling_mode": "median"}, r"the pooling must be of .*, each once, got \['median'"),
        ("sentence_bert_config.json", {"max_seq_length": "256"}, "max_seq_length must be .* at least 3, got '256'"),
    ],
)
def test_what_an_embedding_does_not_do(file, changes, message, tmp_path):
    write_pooling(tmp_path, PoolingSettings("mean", True, 20), 8)
    (tmp_path / PROMPTS).write_text("{}")
    change_json(tmp_path / file, **changes)
    with pytest.raises(ValueError, match=message):
        read_pooling(tmp_path)


THEIRS = "sentence_transformers.models."


@pytest.mark.parametrize(
    ("types", "message"),
    [
        ("Transformer Pooling Normalize Dense", r"perhaps a Normalize, got \['Transformer', 'Pooling', 'N"),
        ("Pooling", r"must list a Transformer, a Pooling, perhaps Dense modules and perhaps a Normalize, got \['Poo"),
        ("", r"must list a Transformer, .*, got \[\]$"),
        ("Router", r"got \['Router'\]; queries and documents have an encoder each; name the folder"),
        ("Transformer Dropout MultiVectorMask", r"MultiVectorMask'\]; a ColBERT, with a vector for each token, is"),
        ("Transformer SpladePooling", r"got .*SpladePooling'\]; vectors of SPLADE, .*, need a head of masked tokens$"),
        *(
            (f"Transformer {name} Normalize", f"must list a Transformer, .*got .*'{name}', 'Normalize'.*; {reason}")
            for name, reason in (
                ("my_code.Pooling", "code of"),
                ("custom_st.Pooling", "code of"),
                ("pylate.models.Pooling", "a ColBERT"),
            )
        ),
    ],
)
def test_other_modules(types, message, tmp_path):
    modules = [{"path": "", "type": name if "." in name else f"{THEIRS}{name}"} for name in types.split()]
    (tmp_path / "modules.json").write_text(json.dumps(modules))
    assert makes_vectors(tmp_path) or not types or "Splade" in types
    with pytest.raises(ValueError, match=message):
        read_pooling(tmp_path)


def test_damaged_prompts_beside_a_classifier(tmp_path):
    folder = copy_golden("hugging_face_classification", tmp_path)
    for content, message in (
        ({"prompts": ["q: "]}, "prompts must be texts by name, got"),
        ({"prompts": {"a": "q: "}, "default_prompt_name": ["a"]}, r"default_prompt_name must be one of \['a'\], got"),
    ):
        (folder / PROMPTS).write_text(json.dumps(content))
        with pytest.raises(ValueError, match=message):
            check_folder(folder)


@pytest.mark.parametrize(
    ("pooling", "query", "is_refused"),
    [("mean", "", False), ("lasttoken", "query: ", False), ("cls", "query: ", True), ("mean", "query: ", True)],
)
def test_a_pooling_without_the_tokens_of_prompts(pooling, query, is_refused, tmp_path):
    write_pooling(tmp_path, PoolingSettings(pooling, prompts=Prompts(query=query)), 8)
    change_json(tmp_path / "1_Pooling" / "config.json", include_prompt=False)
    if not is_refused:
        assert read_pooling(tmp_path).pooling == pooling
        return
    with pytest.raises(ValueError, match=r"config\.json: include_prompt must be true where queries .* got false$"):
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


def test_a_cross_encoder_may_list_its_only_module(tmp_path):
    for names, expected in ((["Transformer"], False), (["Router"], True), (["Transformer", "Pooling"], True)):
        modules = [{"path": "", "type": f"sentence_transformers.base.modules.{name}"} for name in names]
        (tmp_path / "modules.json").write_text(json.dumps(modules))
        assert makes_vectors(tmp_path) is expected


@pytest.mark.parametrize("model", ["roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet"])
def test_the_longest_text_by_its_old_names(model, tmp_path):
    write_pooling(tmp_path, PoolingSettings(max_length=20), 8)
    (tmp_path / "sentence_bert_config.json").rename(tmp_path / f"sentence_{model}_config.json")
    assert read_pooling(tmp_path).max_length == 20


def test_a_dropout_changes_no_vector(tmp_path):
    write_pooling(tmp_path, PoolingSettings("cls"), 8)
    modules = json.loads((tmp_path / "modules.json").read_text())
    dropout = {"path": "3_Dropout", "type": "sentence_transformers.sentence_transformer.modules.dropout.Dropout"}
    (tmp_path / "modules.json").write_text(json.dumps([*modules[:2], dropout, *modules[2:]]))
    assert read_pooling(tmp_path) == PoolingSettings("cls")


@pytest.mark.parametrize(
    ("prompts", "expected"),
    [
        ({"query": "q: "}, Prompts(query="q: ", passage="q: ")),
        ({"query": "q: ", "passage": ""}, Prompts(query="q: ")),
        ({"sts": "s: "}, Prompts(query="s: ", passage="s: ")),
    ],
)
def test_the_default_prompt_stands_where_no_other_does(prompts, expected, tmp_path):
    (tmp_path / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": prompts, "default_prompt_name": next(iter(prompts))})
    )
    assert read_prompts(tmp_path) == expected


def test_a_classifier_of_setfit_is_named(tmp_path, caplog):
    (tmp_path / "model_head.pkl").write_bytes(b"")
    assert read_pooling(tmp_path) == PoolingSettings()
    assert "model_head.pkl of SetFit is a pickle of scikit-learn and is not read" in caplog.text


def test_folders_of_modules_stand_beside_their_list(tmp_path):
    (tmp_path / "modules.json").write_text(json.dumps([{"path": "../0_BERT", "type": "Transformer"}]))
    with pytest.raises(ValueError, match=r"modules.json must name folders beside it, got the paths \['../0_BERT'\]"):
        transformer_folder(tmp_path)
