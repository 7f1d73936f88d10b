# header comment

# another
if a:  # comment on if
    # inner comment
    b
    # footer comment
# before elif
elif c: d; e
elif f:

    g

# before else
else:
    # in else
    h
if a:
    if b:
        if c:
            x = """text
at column 0
    """
            y = f(
  weird,
            indentation)
            # comment
  # odd comment
            z = 1
        elif d:
            pass
    else:
        e
else:
    if f: g
if a: pass
else: pass
if a:
	tabs = 1
	if b:
		more = 2
for i in range(3):
    for j in range(i):
        continue
    else:
        break
else:
    pass
while True:
    x = 1
    while x: x -= 1
    else: y
else:
    z
try:
    a
except (ValueError, TypeError) as e:
    b
except OSError:
    c
except:
    d
else:
    e
finally:
    f
try:
    a
finally:
    b
try: a
except X: b
else: c
finally: d
try:
    try:
        a
    except A as e: raise
except B: pass
else: x
with a as b, c as d.e, f as (g, h), i as [j, *k]:
    x
with (
    a as b,  # comment
    c,
): pass
with a: pass
with (yield_): b
with (a, b) as c: d
class A:
    if x:
        def f(self): pass
    else:
        def f(self): return 1
    for y in z: w = y
    with u: v
match x:
    case 1: a
    case -1.5 | "s" | None | True: b
    case [a, b, *rest] if a > b:
        c
    case (x, y): d
    case {"k": v, **rest}:
        e
    case Point(x=0, y=A.B) as p: f
    # comment
    case [Point(x=0), *_] | {"a": [1, 2]}:
        g; h
    case _:
        pass
match a, b:
    case c if c: x
match (a):
    case x.y.z:
        if x:
            return_ = 1
match = 1; case = match; type = _ = 2
match[match], case(type)
print(match)
def f():
    match f:
        case 1:
            match g:
                case [*_]: return
            return 1
        case 2: pass
    # end
    return
	# tab comment
if 1:
    if 2:
        pass
    # last comment
