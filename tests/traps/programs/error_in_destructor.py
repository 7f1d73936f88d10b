# shrink --oracle exception:IndexError --skip-pass failing_call
# lure: the pool's destructor: "Exception ignored in ... IndexError" is printed at exit by a program that ends well
# must: self\.free|\.pop\(|\[
# ends: 1 ^Traceback[\s\S]*IndexError: pop from empty list
# fault: IndexError.*pop from empty list
# naive: output IndexError
"""A pool of workspace blocks for split-K partial sums, which gives its blocks back when it goes."""


class Pool:
    def __init__(self, blocks, size):
        self.size = size
        self.free = list(range(blocks))
        self.used = []

    def take(self):
        block = self.free.pop()
        self.used.append(block)
        return block * self.size

    def give_back(self):
        self.free.append(self.used.pop())

    def __del__(self):
        for _ in range(len(self.free) + len(self.used)):
            self.give_back()


def plan(pool, rows, columns, split):
    tiles = -(-rows // 128) * -(-columns // 128)
    return [[pool.take() for _ in range(split)] for _ in range(tiles)]


SHAPES = [(128, 256, 2), (512, 512, 4)]

pool = Pool(blocks=32, size=128 * 128 * 4)
for rows, columns, split in SHAPES:
    partial = plan(pool, rows, columns, split)
    print(rows, columns, len(partial), partial[-1])
