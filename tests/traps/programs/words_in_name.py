# shrink --oracle overflow
# lure: NameError: name 'overflow' is not defined: the word is that of a function and of a variable
# must: RuntimeError\(
# ends: 1 RuntimeError: .*overflow
# fault: RuntimeError.*overflow
# naive: output overflow
"""Host side of a grouped matmul: tokens are sorted into the buffers of their experts."""

import random

CAPACITY = 24
EXPERTS = 8


def route(tokens, seed):
    rng = random.Random(seed)
    return [min(int(rng.expovariate(0.4)), EXPERTS - 1) for _ in range(tokens)]


def overflow(counts, capacity):
    return {expert: count - capacity for expert, count in enumerate(counts) if count > capacity}


def offsets(counts):
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + count)
    return starts


def dispatch(tokens, seed):
    counts = [0] * EXPERTS
    for expert in route(tokens, seed):
        counts[expert] += 1
    too_many = overflow(counts, CAPACITY)
    if too_many:
        raise RuntimeError(f"expert buffers overflow: {too_many}")
    return offsets(counts)


for tokens in (32, 96):
    print(tokens, dispatch(tokens, seed=3))
