try:
    a
except* ValueError as e:
    b
except* (A, B): c
else:
    d
finally:
    e
try: a
except* X: b
x[*a, 1:2, *b]
x[*a]
def f(*args: *Ts): return args[*a]
for x in *a, *b: pass
