# shrink --oracle exception:AssertionError --control-patch other_assertion.diff --keep rescale
# lure: assert_allclose of anything that differs: nearly every change of meaning keeps an assertion failing
# must: rescale\((?!total: float)
# cured by: return total$ => return total * np.exp(peak - top)
# ends: 1 AssertionError[\s\S]*Not equal to tolerance
# fault: AssertionError
# naive: no guards
"""NumPy model of the online softmax that the kernel follows, checked against the plain one."""

import numpy as np

TILE = 4


def rescale(total: float, peak: float, top: float):
    """The sum so far, in units of the new maximum."""
    return total


def online_normaliser(row):
    peak, total = -np.inf, 0.0
    for start in range(0, len(row), TILE):
        tile = row[start : start + TILE]
        top = max(peak, tile.max())
        total = rescale(total, peak, top) + np.exp(tile - top).sum()
        peak = top
    return peak, total


def softmax(x):
    out = np.empty_like(x)
    for i, row in enumerate(x):
        peak, total = online_normaliser(row)
        out[i] = np.exp(row - peak) / total
    return out


def reference(x):
    shifted = np.exp(x - x.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True)


rng = np.random.default_rng(0)
for rows, columns in ((2, 4), (3, 16)):
    x = rng.standard_normal((rows, columns))
    np.testing.assert_allclose(softmax(x), reference(x), rtol=1e-6)
    print(rows, columns, "ok")
