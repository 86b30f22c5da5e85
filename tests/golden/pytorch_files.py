"""Makes the files of tests/keras_bert/interop/test_pytorch_files.py with PyTorch itself.

    python -m tests.golden.pytorch_files

Made with Python 3.11, torch 2.15.0: tensors that share storages, of all number formats, in both formats of files.
"""

import collections
from pathlib import Path

import torch

HERE = Path(__file__).parent / "pytorch"


def make_tensors() -> "collections.OrderedDict[str, torch.Tensor]":
    """A state dict whose first tensors share a storage."""
    numbers = torch.arange(24.0).reshape(4, 6)
    tensors = collections.OrderedDict(
        whole=numbers,
        transposed=numbers.T,
        part=numbers[1:3, ::2],
        half=numbers[:2].half(),
        bfloat16=numbers[:2].bfloat16(),
        parameter=torch.nn.Parameter(numbers[0] + 1),
        position_ids=torch.arange(5).expand(1, -1),
        empty=torch.zeros(0, 3),
        scalar=torch.tensor(2.5),
    )
    tensors._metadata = collections.OrderedDict({"": {"version": 1}})  # type: ignore[attr-defined]
    return tensors


if __name__ == "__main__":
    HERE.mkdir(exist_ok=True)
    torch.save(make_tensors(), HERE / "zip.bin")
    torch.save(make_tensors(), HERE / "old.bin", _use_new_zipfile_serialization=False)
    torch.save({"state_dict": make_tensors()}, HERE / "nested.bin")
    torch.save(torch.nn.Linear(1, 1), HERE / "module.bin")
