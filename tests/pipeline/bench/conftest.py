import keras
import pytest

from keras_bert.tasks.classification import Classification
from keras_bert.tokenizers.tokenizer import Tokenizer
from keras_bert.tokenizers.wordpiece_vocabulary import SPECIAL_TOKENS
from tests.keras_bert.tasks.tiny import WORDS, make_encoder
from tests.model_files import write_file


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """A folder with a task's `.tflite` and `.onnx` file, each complete by itself."""
    folder = tmp_path_factory.mktemp("files")
    keras.utils.set_random_seed(0)
    tokenizer = Tokenizer([*SPECIAL_TOKENS, *WORDS], lowercase=True)
    task = Classification.build(make_encoder(num_layers=1), tokenizer, labels=["no", "yes"], max_length=16)
    for name in ("model.tflite", "model.onnx"):
        write_file(task, folder / name, (8, 16))
    return folder
