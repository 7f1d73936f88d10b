a = b = c, *d = 1, 2
(a), [b, *c] = 1, [2, 3]
a.b.c[d].e = f(x)(y)[z] = 3
x: int
x.y: "list[int]" = 3
x: tuple = *a, b
x += yield_ if a else b
x @= -a ** -b ** ~c
del a, b.c, d[e]
del (a, b), [c]
del (a)
assert a, b
assert(a), (b)
print(a if b else c if d else e, (a if b else c) if d else e)
print(lambda: a, (lambda x, y=1: (x, y))(1), lambda: (yield_))
print(not a, not(a) or not b and c, -1 .real, 1.0.real, 1..real, 0xf .real, 1j.imag, 5 .bit_length())
print(a < b < c != d, a in b is not c, not a in b, a not in b, (a < b) < c)
print(a + b * c ** d, (a + b) * c, a - (b - c), (a ** b) ** c, -(a + b) ** 2, (-a) ** b, 2 ** -1)
print(a @ b // c % d << e >> f & g | h ^ i, ~a, +-~a)
print(a or b and c, (a or b) and c, not (a and b))
print(f(a)(b).c[d][e, f, ...][::2][1:2, :, None][a:b:c], x[(y := 1)], x[1,], x[(1, 2)])
print([a for b in c if d for e in f if g if h], {a: b for c, d in e}, {a for a, in b}, (x for x in y))
print(sum(x for x in y), sum((x for x in y), 1), any(x
    for x in y  # comment
    if x))
print((y := f(x)), [y := 1, y**2], {(z := 2): 3})
print(*a, *[b], **c, d=e, **{**f, 'g': 1}, )
print((), (a,), (a, b,), [], [a,], {}, {a}, {a, *b}, {'a': 1, **b, 'c': [d]}, set(), {**a})
print("a" "b" f"c{d}" 'e', ("implicit"
    "concatenation"  # with comment
    f"{x + 1}"))
print(f"{a}{b!r}{c:>{width}}{d!s:{e}.{f}} {{literal}} {a['x']} {lambda_} {(lambda: 1)()} {a if b else c} {x=} {x + y = }")
print(f'{a["x"] + b}', f"""{a
    + b}""", rf"\d{x}", f"{ {1: 2}[1] }", f"{a, b}", f"{f'{x + 1}'}", f"{x:%Y-{m}}")
print(b"bytes" b"more", r"raw\n", u"u", Rb"\x", '\'', "\"", 'a\
b')
x = a if b else-1
x = 1if a else 2
x = [1]if(a)else(b)
x = a or(b)and[c]
if(a)in(b):pass
return_ = [
    a,  # one
    b,
    # two
    *c
]
x = (
    a  # comment
    + b
    # more
    + c.d(
        e
    ).f
)
x = a + \
    b + \
  c
x = """multi
  line""" + '''
other''' ; y = 1; z = 2;
y = 1;
for x in a, b: pass
for x, in *a, b: pass
for (x, y), [z] in a: break
for x.y in a: continue
for x[0] in lambda: 1, 2: pass
while a: b; c
while(yes):
    a;b
    break
else: c
raise
raise a
raise a from b
raise(a)from(b)
try: a
except: b
