"""LoRA in peft's format: its answers, its files bit by bit, and what is refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from keras_bert.interop.hugging_face import read_model
from keras_bert.interop.peft import from_peft, to_peft
from keras_bert.options.adaptation import Bias, Lora
from keras_bert.tasks.classification import Classification
from tests.golden.drawn_weights import draw
from tests.keras_bert.interop.checkpoints import GOLDEN, change_json, make_tokenizer, run

REFERENCE = dict(np.load(GOLDEN / "peft.npz"))
LABELS = ["bad", "so-so", "good"]


def write(folder, config, shapes, names):
    folder.mkdir()
    (folder / names[0]).write_text(str(REFERENCE[config]))
    tensors = {name: draw(name, shape) for name, shape in json.loads(str(REFERENCE[shapes])).items()}
    save_file(tensors, folder / names[1])


@pytest.fixture
def task(tmp_path):
    """The base, without the adapter."""
    write(tmp_path / "base", "config", "base_shapes", ("config.json", "model.safetensors"))
    change_json(tmp_path / "base" / "config.json", architectures=["BertForSequenceClassification"])
    tokenizer = make_tokenizer([str(number) for number in range(40)], 0)
    return Classification(read_model(tmp_path / "base"), tokenizer, labels=LABELS, max_length=20)


@pytest.fixture
def theirs(tmp_path):
    """The adapter as peft wrote it."""
    write(tmp_path / "theirs", "adapter", "shapes", ("adapter_config.json", "adapter_model.safetensors"))
    return tmp_path / "theirs"


def test_the_answers_and_the_way_back(task, theirs, tmp_path):
    before = run(task.model, REFERENCE)
    adapter = from_peft(theirs, task)
    places = ("attention/query", "attention/value", "feed_forward/intermediate")
    assert adapter.adaptation == Lora(rank=3, alpha=6.0, dropout=0.1, layers=places)
    np.testing.assert_allclose(run(task.model, REFERENCE), REFERENCE["logits"], atol=2e-5)
    assert np.abs(before - REFERENCE["logits"]).max() > 0.1

    to_peft(task, tmp_path / "ours", base="a-base")
    expected, actual = (load_file(place / "adapter_model.safetensors") for place in (theirs, tmp_path / "ours"))
    assert {name: array.tobytes() for name, array in actual.items()} == {
        name: array.tobytes() for name, array in expected.items()
    }
    said = json.loads((tmp_path / "ours" / "adapter_config.json").read_text())
    assert (said["peft_type"], said["task_type"], said["r"], said["lora_alpha"]) == ("LORA", "SEQ_CLS", 3, 6.0)
    assert said["base_model_name_or_path"] == "a-base"
    assert said["modules_to_save"] == ["bert.pooler.dense", "classifier"]
    assert len(said["target_modules"]) == 6

    task.merge_adapter()
    np.testing.assert_allclose(run(task.model, REFERENCE), REFERENCE["logits"], atol=2e-5)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"peft_type": "IA3"}, "peft_type must be 'LORA', got 'IA3', which is not supported"),
        ({"use_dora": True}, "use_dora must be False, got True, which is not supported"),
        ({"rank_pattern": {"query": 4}}, "rank_pattern must be {}, got {'query': 4}, which is not supported"),
        *(
            (
                {"init_lora_weights": name},
                f"init_lora_weights must be .* got '{name}', .* convert the adapter with peft",
            )
            for name in ("pissa", "pissa_niter_4", "olora", "corda", "loftq", "lora_ga")
        ),
        ({"r": "3"}, "r must be a number, got '3'"),
        ({"r": 4}, r"lora_.*weight', transposed, must have the shape \(.*4.*\), got \(.*3.*\)"),
    ],
)
def test_adapters_of_other_kinds(task, theirs, changes, message):
    change_json(theirs / "adapter_config.json", **changes)
    with pytest.raises(ValueError, match=message):
        from_peft(theirs, task)
    assert task.adapter is None


@pytest.mark.parametrize("name", [None, True, False, "gaussian", "orthogonal", "eva"])
def test_adapters_whose_base_keeps_its_weights(task, theirs, name):
    change_json(theirs / "adapter_config.json", init_lora_weights=name)
    assert from_peft(theirs, task).adaptation.rank == 3


def rename(folder, old, new):
    tensors = load_file(folder / "adapter_model.safetensors")
    save_file({name.replace(old, new): array for name, array in tensors.items()}, folder / "adapter_model.safetensors")


def test_an_adapter_of_another_model(task, theirs):
    rename(theirs, "layer.1.", "layer.2.")
    with pytest.raises(ValueError, match=r"must belong to layers of the encoder's blocks, got 'bert.encoder.layer.2"):
        from_peft(theirs, task)
    rename(theirs, "layer.2.attention.self.value.lora_A", "layer.1.attention.self.value.lora_Z")
    rename(theirs, "layer.2.", "layer.1.")
    before = run(task.model, REFERENCE)
    with pytest.raises(ValueError, match=r"does not fit the task: .*is only in the file, or only in the task"):
        from_peft(theirs, task)
    assert task.adapter is None
    np.testing.assert_array_equal(run(task.model, REFERENCE), before)


def test_files_and_adapters_that_are_missing(task, theirs, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"is not an adapter of peft's: it has no adapter_model.safetensors"):
        from_peft(tmp_path, task)
    (theirs / "adapter_config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no adapter_config.json"):
        from_peft(theirs, task)
    with pytest.raises(ValueError, match=r"Classification.adapter must be of kind 'lora' .* got None"):
        to_peft(task, tmp_path / "ours")
    task.adapt(Bias())
    with pytest.raises(ValueError, match=r"Classification.adapter must be of kind 'lora' .* got 'bias'"):
        to_peft(task, tmp_path / "ours")
