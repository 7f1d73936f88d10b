"""What a kernel may be configured by."""

import dataclasses
import itertools


@dataclasses.dataclass(frozen=True)
class AttentionConfig:
    block_m: int = 64
    block_n: int = 32
    head: int = 128
    num_warps: int = 4
    num_stages: int = 2

    def constants(self):
        return {"BLOCK_M": self.block_m, "BLOCK_N": self.block_n, "HEAD": self.head}

    @property
    def options(self):
        return {"num_warps": self.num_warps, "num_stages": self.num_stages}


def default_config():
    return AttentionConfig()


def all_configs():
    for block_m, block_n, warps in itertools.product((32, 64, 128), (32, 64), (4, 8)):
        yield AttentionConfig(block_m, block_n, num_warps=warps)
