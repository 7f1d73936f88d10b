"""Arguments of a launch in words."""

from __future__ import annotations

import struct

import pytest

from shrinkray_gpu.runner.inside.cuda_cpp.host_calls import argument

torch = pytest.importorskip("torch")


def test_a_pointer_is_a_tensor_and_bytes_into_it() -> None:
    tensors = [torch.zeros(4), torch.arange(6, dtype=torch.int32)]
    told = argument("int*", struct.pack("<Q", tensors[1].data_ptr() + 8), tensors)
    assert (told["size"], told["offset"], told["into"], told["seen"]["shape"]) == (24, 8, 8, [6])
    assert told["seen"]["content"] == {"kind": "arange", "start": 0, "step": 1} and told["seen"]["device"] == "cuda"
    nowhere = argument("int*", bytes(8), tensors)
    assert nowhere["tensor"] == 0


def test_a_struct_is_its_bytes_and_the_pointers_in_it() -> None:
    x = torch.ones(4)
    data = struct.pack("<iiQf4x", 7, 8, x.data_ptr() + 4, 0.5)
    told = argument("fa::Params", data, [x])
    assert told["bytes"] == "" and bytes.fromhex(told["raw"]) == data
    assert {at: about["into"] for at, about in told["pointers"].items()} == {"8": 4}


def test_a_number_is_its_bytes() -> None:
    assert argument("unsigned int", b"\x01\x02\x03\x04", []) == {"type": "unsigned int", "bytes": "01020304"}
