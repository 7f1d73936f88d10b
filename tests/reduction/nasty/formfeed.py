import os

def f():
    x = 1

    s = "ab"+ """
 x"""
    # cd
    return x
# hi
class A:
        b = 1
    c = 2
