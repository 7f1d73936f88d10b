# shrink --oracle exception:FloatingPointError
# lure: the sum without the strict setting: a candidate before it, in the same process, has left it on
# must: np\.seterr\(|seterr\(|errstate\(
# ends: 1 FloatingPointError: overflow encountered
# fault: FloatingPointError.*overflow encountered
# naive: worker FloatingPointError
"""Accuracy study of a half-precision dot product: in which order of summing does it overflow?"""

import numpy as np


def strict():
    """From here on an overflow is an error and not an infinity."""
    np.seterr(over="raise")


def in_order(a, b):
    total = np.float16(0)
    for x, y in zip(a, b):
        total = total + x * y
    return total


def pairwise(a, b):
    terms = a * b
    while len(terms) > 1:
        terms = terms[::2] + terms[1::2]
    return terms[0]


def study(size, scale):
    a = np.full(size, scale, np.float16)
    for order in (in_order, pairwise):
        print(size, scale, order.__name__, order(a, a))


strict()
study(64, 2.0)
study(64, 48.0)
