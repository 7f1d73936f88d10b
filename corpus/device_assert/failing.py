"""Sums up the embeddings of each bag of tokens; an id beyond the table is caught by an assertion on the device.

python unknown_token.py                 the tokenizer has learnt a word that the table has not
python unknown_token.py --words 1000    the vocabulary that the table was made for
TRITON_INTERPRET=1 python unknown_token.py --device cpu     the interpreter says the same
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import torch
import triton
import triton.language as tl


@triton.jit
def checked(ids, inside, rows):
    """The ids, each of which has a row in the table."""
    tl.device_assert((ids >= 0) & (ids < rows) | ~inside, "id is not in the table")
    return ids


@triton.jit
def bag_kernel(
    table_ptr, ids_ptr, starts_ptr, out_ptr, rows, WIDTH: tl.constexpr, BLOCK: tl.constexpr, MEAN: tl.constexpr
):
    """Sum or mean of the rows of one bag."""
    bag = tl.program_id(0)
    start = tl.load(starts_ptr + bag)
    end = tl.load(starts_ptr + bag + 1)
    cols = tl.arange(0, WIDTH)
    total = tl.zeros([WIDTH], tl.float32)
    for first in range(start, end, BLOCK):
        at = first + tl.arange(0, BLOCK)
        inside = at < end
        ids = checked(tl.load(ids_ptr + at, mask=inside, other=0), inside, rows)
        total += tl.sum(tl.load(table_ptr + ids[:, None] * WIDTH + cols[None, :], mask=inside[:, None], other=0.0), 0)
    if MEAN:
        total = total / tl.maximum(end - start, 1)
    tl.store(out_ptr + bag * WIDTH + cols, total)


class Tokenizer:
    """Words by the order in which they were seen."""

    def __init__(self, words: int) -> None:
        self.known = {f"w{number}": number for number in range(words)}

    def __call__(self, text: str) -> list[int]:
        return [self.known.setdefault(word, len(self.known)) for word in text.split()]


def bags(texts: Iterable[str], tokenizer: Tokenizer, device: str) -> tuple[torch.Tensor, torch.Tensor]:
    """All ids behind each other, and where each bag starts."""
    ids: list[int] = []
    starts = [0]
    for text in texts:
        ids += tokenizer(text)
        starts.append(len(ids))
    return (torch.tensor(values, dtype=torch.int32, device=device) for values in (ids, starts))


def embed(table: torch.Tensor, ids: torch.Tensor, starts: torch.Tensor, mean: bool) -> torch.Tensor:
    count = len(starts) - 1
    out = torch.empty(count, table.shape[1], device=table.device)
    bag_kernel[(count,)](table, ids, starts, out, len(table), WIDTH=64, BLOCK=16, MEAN=mean, debug=True)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=1000)
    parser.add_argument("--text", action="append", default=["w1 w2 w3", "w10 w999 w998 and"])
    parser.add_argument("--device", default="cuda")
    args = parser.parse_args()
    table = torch.ones(1000, 64, device=args.device)
    tokenizer = Tokenizer(args.words)
    ids, starts = bags(args.text, tokenizer, args.device)
    for mean in (False, True):
        out = embed(table, ids, starts, mean)
        print(f"{len(starts) - 1} bags, mean {mean}: {out.sum().item():.1f}")


if __name__ == "__main__":
    main()
