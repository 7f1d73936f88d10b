# shrink --oracle exception:ValueError
# lure: max([]), int("") or a failed unpacking: a ValueError, too, but from another line and for another reason
# must: no configuration fits
# ends: 1 ValueError: no configuration fits
# fault: ValueError.*no configuration fits
# naive: no guards
"""Picks the largest tile whose pipeline fits in shared memory."""

from dataclasses import dataclass

SHARED = {"sm_80": 166912, "sm_90": 232448, "sm_120": 101376}


@dataclass(frozen=True)
class Tile:
    m: int
    n: int
    k: int
    stages: int

    @classmethod
    def parse(cls, text):
        shape, stages = text.split("@")
        m, n, k = (int(size) for size in shape.split("x"))
        return cls(m, n, k, int(stages))

    def shared(self, element):
        return (self.m * self.k + self.k * self.n) * element * self.stages


TILES = [Tile.parse(text) for text in ("128x256x64@4", "128x128x64@5", "256x128x32@6")]


def choose(arch, element):
    limit = SHARED[arch]
    fitting = [tile for tile in TILES if tile.shared(element) <= limit]
    if not fitting:
        raise ValueError(f"no configuration fits into {limit} bytes of shared memory")
    return max(fitting, key=lambda tile: tile.m * tile.n)


for arch, element in (("sm_90", 2), ("sm_80", 2), ("sm_120", 8)):
    print(arch, element, choose(arch, element))
