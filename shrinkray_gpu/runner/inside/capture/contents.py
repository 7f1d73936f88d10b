"""Contents: what a tensor holds, in the fewest words that make it again: zeros, integers in a range, a normal sample.

Only for a capture that was asked for values. Each tensor is described before its launch, which may destroy it, and that
waits for the device. The description is a summary, whatever the size: least and greatest value are taken of the whole
tensor where it lies, the rest from a sample. The values themselves go along where no summary holds all of them: a few
in the description, many in a file.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections import OrderedDict
from typing import Any, Callable, Dict, List

from ..process.trouble import words_of

Content = Dict[str, Any]

INLINE = 64
"""Elements that are written into the script."""
SAVED = 64 << 20
"""Bytes of the largest tensor that is saved."""
KEPT = 1 << 30
"""Bytes of all that are saved; then the oldest goes, since the latest launches are the suspects."""
SAMPLE = 1 << 20
"""Elements looked at for what cannot be told without a copy, and of tensors on the host."""

NOT_COMPUTED = re.compile(r"#(\?|~[0-9a-f.]+)$")
_UNSIGNED = ("uint16", "uint32", "uint64")


class Contents:
    """Describes the tensors of one run and keeps what is saved of them in `folder`.

    No folder, nothing is saved. `word(tensor)` is how the tensor reads in a launch record; on the virtual GPU it ends
    in `#?` or `#~1a2b3c4d` where the values were not computed, and what is read there says nothing.
    """

    def __init__(self, folder: str, word: Callable[[Any], str] = lambda tensor: "") -> None:
        self.folder, self.word = folder, word
        self._saved: "OrderedDict[str, int]" = OrderedDict()

    def note(self, tensor: Any, about: Dict[str, Any]) -> None:
        """Add the `content` to what is written down of a tensor. Never raises: the launch must go on."""
        try:
            about["content"] = self.describe(tensor)
        except Exception as error:  # an operation that its type lacks, or an earlier launch's fault that surfaces
            about["content"] = {"kind": "unknown", "why": words_of(error)}

    def describe(self, tensor: Any) -> Content:
        import torch

        if NOT_COMPUTED.search(self.word(tensor)):
            return {"kind": "unknown", "why": "a kernel that did not run would have written it"}
        with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            if tensor.is_cuda and torch.cuda.is_current_stream_capturing():
                return {"kind": "unknown", "why": "a CUDA graph is being captured"}
            value = tensor.detach()
            content = _summary(value)
            if content["kind"] in ("range", "normal", "bool", "other"):
                exact = self._exact(value)
                if exact is not None:
                    content["exact"] = exact
            return content

    def _exact(self, value: Any) -> Any:
        if value.numel() <= INLINE and not value.is_complex():
            wide = value.float() if value.is_floating_point() else value
            return {"kind": "list", "values": wide.cpu().tolist()}
        if not self.folder or value.numel() * value.element_size() > SAVED:
            return None
        buffer = io.BytesIO()
        import torch

        torch.save(value.cpu().clone(memory_format=torch.contiguous_format), buffer)
        data = buffer.getbuffer()
        name = hashlib.sha256(data).hexdigest()[:16] + ".pt"
        path = os.path.join(self.folder, name)
        if name not in self._saved:
            os.makedirs(self.folder, exist_ok=True)
            with open(path + ".part", "wb") as file:
                file.write(data)
            os.replace(path + ".part", path)  # never half a file
        self._saved[name] = len(data)
        self._saved.move_to_end(name)
        while sum(self._saved.values()) > KEPT:
            oldest, _ = self._saved.popitem(last=False)
            os.unlink(os.path.join(self.folder, oldest))
        return {"kind": "file", "path": path, "dtype": str(value.dtype).rpartition(".")[2], "bytes": len(data)}


def beside(folder: str) -> str:
    """Where to save what a run's tensors hold, given where its launches are written down: the run's temporary folder
    goes with it, the one that this lies in stays for the reduction."""
    return os.path.join(os.path.dirname(os.path.dirname(folder)), "values")


def _summary(value: Any) -> Content:
    import torch

    if value.numel() == 0:
        return {"kind": "zeros"}
    if value.is_complex():
        value = torch.view_as_real(value.resolve_conj())
    value = _without_repeats(value)
    if not _ranked(value):
        value = sample(value)
        value = value.float() if value.is_floating_point() else value.to(torch.int64)
    elif value.device.type == "cpu" and value.numel() > 4 * SAMPLE:
        value = sample(value)
    low, high = (bound.item() for bound in torch.aminmax(value))
    if low == high:
        return {"kind": "ones" if low == 1 else "full", "value": low} if low else {"kind": "zeros"}
    if value.dtype == torch.bool:
        return {"kind": "bool", "share": float(sample(value).float().mean().item())}
    steps = _steps(value)
    if steps:
        return steps
    if not value.is_floating_point():
        return {"kind": "range", "low": low, "high": high}
    return _spread(sample(value).float(), low, high)


def _ranked(value: Any) -> bool:
    """Whether torch knows the least and greatest value of this type."""
    name = str(value.dtype).rpartition(".")[2]
    return name not in _UNSIGNED and not name.startswith(("float8", "float4"))


def _without_repeats(value: Any) -> Any:
    """Of an expanded tensor, what lies in memory."""
    sizes = [1 if stride == 0 else size for size, stride in zip(value.shape, value.stride())]
    return value.as_strided(sizes, value.stride(), value.storage_offset())


def sample(value: Any, most: int = SAMPLE) -> Any:
    """A part of a large tensor, spread over each dimension by odd steps, so that no period of a power of two hides."""
    sizes, strides = list(value.shape), list(value.stride())
    count = value.numel()
    while count > most:
        largest = max(range(len(sizes)), key=lambda i: sizes[i])
        step = 7 if sizes[largest] >= 14 else 2
        count = count // sizes[largest] * (sizes[largest] // step)
        sizes[largest] //= step
        strides[largest] *= step
    return value.as_strided(sizes, strides, value.storage_offset())


def _steps(value: Any) -> Content:
    """`arange` for what rises or falls by the same step from element to element; else nothing."""
    import torch

    count = value.numel()
    if count < 3 or not (value.is_contiguous() or count <= SAMPLE):
        return {}
    flat = value.reshape(-1)
    start, second = (x.item() for x in flat[:2])
    step = second - start
    if not (step and start == start // 1 and step == step // 1):  # false of NaN and infinity too
        return {}
    for places in _places(count, flat.device):
        expected = places * int(step) + int(start)
        if not torch.equal(flat[places].double(), expected.double()):
            return {}
    return {"kind": "arange", "start": int(start), "step": int(step)}


def _places(count: int, device: Any) -> List[Any]:
    """Indices to look at: all of them, or the head and a sample of the rest."""
    import torch

    if count <= SAMPLE:
        return [torch.arange(count, device=device)]
    few = SAMPLE // 16
    spread = torch.arange(few, device=device) * (count // few)
    return [torch.arange(few, device=device), spread, count - 1 - spread]


def _spread(sample: Any, low: float, high: float) -> Content:
    finite = sample[sample.isfinite()]
    nan = low != low
    inf = not nan and (low == -float("inf") or high == float("inf")) or bool(sample.isinf().any().item())
    if nan or inf:
        if finite.numel() < 2:
            return {"kind": "other", "nan": nan, "inf": inf}
        low, high = finite.min().item(), finite.max().item()
    mean, std = finite.mean().item(), finite.std().item() if finite.numel() > 1 else 0.0
    return {"kind": "normal", "mean": mean, "std": std, "low": low, "high": high, "nan": nan, "inf": inf}
