import os

@dec
def f(a,
      b): # c
    x = """a
  b"""; y = 1
    if x:
        return f"{x + y}"
    else:
        z = 'a\
b'

print(f(1,
  2))