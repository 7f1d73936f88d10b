# shrink --oracle exit:1
# lure: MemoryError: the workspace is as large as you like once a division or a bound is gone
# must: stride
# must not: MemoryError
# ends: 1 ValueError: stride \d+ is no multiple of 16 bytes
# fault: ValueError.*no multiple of
# naive: exit 1
"""Plans the workspace of a grouped matmul on the host, and lays the groups out in it."""

ELEMENT = {"fp8": 1, "fp16": 2, "fp32": 4}
PAGE = 1 << 16


def pages(size):
    return -(-size // PAGE)


def workspace(groups, dtype):
    elements = sum(rows * columns for rows, columns in groups)
    return bytearray(pages(elements * ELEMENT[dtype]) * PAGE)


def check(stride):
    if stride % 16:
        raise ValueError(f"stride {stride} is no multiple of 16 bytes")


def lay_out(groups, dtype):
    space = memoryview(workspace(groups, dtype))
    views, start = [], 0
    for rows, columns in groups:
        stride = columns * ELEMENT[dtype]
        check(stride)
        views.append(space[start : start + rows * stride])
        start += rows * stride
    return views


def main():
    for dtype, groups in {"fp16": [(64, 64), (128, 32)], "fp8": [(1 << 10, 48), (64, 20)]}.items():
        print(dtype, [len(view) for view in lay_out(groups, dtype)])


main()
