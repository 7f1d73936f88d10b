"""Quantised layers in one blob of bytes, as they lie in a file: a header, scales and codes of each layer."""

import io
import struct
from dataclasses import dataclass

import torch
import triton
import triton.language as tl

MAGIC = 0x51B1
HEADER = struct.Struct("<HIIB")  # magic, rows, columns, bits
ALIGN = 16


def aligned(size):
    return (size + ALIGN - 1) // ALIGN * ALIGN


@dataclass
class Entry:
    name: str
    rows: int
    columns: int
    scales_at: int
    codes_at: int


class Writer:
    def __init__(self):
        self.file = io.BytesIO()
        self.entries = []

    def fill(self):
        self.file.write(b"\0" * (aligned(self.file.tell()) - self.file.tell()))

    def add(self, name, weight):
        rows, columns = weight.shape
        scales = weight.abs().amax(1).clamp_min(1e-6) / 127
        codes = (weight / scales[:, None]).round().to(torch.int8)
        self.fill()
        self.file.write(HEADER.pack(MAGIC, rows, columns, 8))
        scales_at = self.file.tell()
        self.file.write(scales.numpy().tobytes())
        self.fill()
        codes_at = self.file.tell()
        self.file.write(codes.numpy().tobytes())
        self.entries.append(Entry(name, rows, columns, scales_at, codes_at))

    def blob(self):
        self.fill()
        return torch.frombuffer(bytearray(self.file.getvalue()), dtype=torch.int8)


@triton.jit
def floats_at(blob, offset):
    return (blob + offset).to(tl.pointer_type(tl.float32))


@triton.jit
def unpack_kernel(blob, out, scales_at, codes_at, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    keep = column < columns
    code = tl.load(blob + codes_at + row * columns + column, mask=keep, other=0)
    scale = tl.load(floats_at(blob, scales_at) + row)
    tl.store(out + row * columns + column, code.to(tl.float32) * scale, mask=keep)


@triton.jit
def matvec_kernel(blob, x, y, scales_at, codes_at, rows, columns, BM: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.arange(0, BLOCK)
    keep = (row < rows)[:, None] & (column < columns)[None, :]
    code = tl.load(blob + codes_at + row[:, None] * columns + column[None, :], mask=keep, other=0)
    value = tl.load(x + column, mask=column < columns, other=0.0)
    scale = tl.load(floats_at(blob, scales_at) + row, mask=row < rows, other=0.0)
    tl.store(y + row, tl.sum(code.to(tl.float32) * value[None, :], axis=1) * scale, mask=row < rows)


@triton.jit
def checksum_kernel(blob, out, size, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], tl.int32)
    for start in range(0, size, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(blob + at, mask=at < size, other=0).to(tl.int32) & 0xFF
    tl.store(out, tl.sum(total, axis=0))


class Model:
    def __init__(self, writer):
        self.blob = writer.blob().cuda()
        self.entries = {entry.name: entry for entry in writer.entries}

    def checksum(self):
        out = torch.zeros(1, dtype=torch.int32, device="cuda")
        checksum_kernel[(1,)](self.blob, out, self.blob.numel(), BLOCK=512)
        return out.item()

    def apply(self, name, x):
        entry = self.entries[name]
        y = torch.empty(entry.rows, device="cuda")
        block = triton.next_power_of_2(entry.columns)
        matvec_kernel[(triton.cdiv(entry.rows, 8),)](
            self.blob, x, y, entry.scales_at, entry.codes_at, entry.rows, entry.columns, BM=8, BLOCK=block
        )
        return y

    def weight(self, name):
        entry = self.entries[name]
        out = torch.empty(entry.rows, entry.columns, device="cuda")
        block = triton.next_power_of_2(entry.columns)
        unpack_kernel[(entry.rows,)](self.blob, out, entry.scales_at, entry.codes_at, entry.columns, BLOCK=block)
        return out


def main():
    torch.manual_seed(2)
    writer = Writer()
    for name, rows, columns in (("up", 40, 24), ("gate", 40, 24), ("down", 24, 40)):
        writer.add(name, torch.randn(rows, columns))
    model = Model(writer)
    print("checksum", model.checksum() & 0xFFFF)
    x = torch.randn(24, device="cuda")
    y = model.apply("down", model.apply("up", x) * torch.sigmoid(model.apply("gate", x)))
    torch.cuda.synchronize()
    print(y.norm().item(), model.weight("down").norm().item())


if __name__ == "__main__":
    main()
