# shrink --oracle "exception:ArithmeticError:not a number" --control-patch dropped_initialisation.diff --keep finite
# lure: NaN of the reducer's own making: 0/0 or inf - inf after the initialisation of a sum or a maximum was dropped
# must: finite\((?!peak: float)
# cured by: return peak$ => return peak if peak > -np.inf else 0.0
# ends: 1 ArithmeticError: .*not a number
# fault: ArithmeticError.*not a number
# naive: no guards
"""NumPy model of masked attention weights; a row whose keys are all masked must give zeros."""

import numpy as np

np.seterr(all="ignore")


def finite(peak: float):
    """What to subtract before the exponential: an empty row has no maximum."""
    return peak


def weights(scores, mask):
    out = np.zeros_like(scores)
    for i, row in enumerate(scores):
        masked = np.where(mask[i], row, -np.inf)
        shifted = np.exp(masked - finite(masked.max()))
        total = shifted.sum()
        out[i] = shifted / max(total, 1e-20)
    return out


def windows(queries, keys, width):
    distance = np.arange(queries)[:, None] - np.arange(keys)[None, :]
    return (distance >= 0) & (distance < width)


def check(name, out):
    broken = np.isnan(out).sum()
    if broken:
        raise ArithmeticError(f"{name}: {broken} weights are not a number")


rng = np.random.default_rng(0)
for name, queries, keys, width in (("causal", 4, 4, 4), ("window", 8, 4, 2)):
    scores = rng.standard_normal((queries, keys))
    out = weights(scores, windows(queries, keys, width))
    check(name, out)
    print(name, out.sum())
