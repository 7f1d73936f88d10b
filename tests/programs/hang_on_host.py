# shrink --oracle timeout --timeout 5 -- smallest: `while True: pass` or another endless loop
"""Orders kernels by their dependencies; a cycle in the table keeps the scheduler waiting for ever. No GPU."""

from collections import deque
from dataclasses import dataclass, field


@dataclass
class Kernel:
    name: str
    needs: tuple[str, ...] = ()
    cost: float = 1.0


@dataclass
class Schedule:
    order: list[str] = field(default_factory=list)
    cost: float = 0.0

    def add(self, kernel: Kernel) -> None:
        self.order.append(kernel.name)
        self.cost += kernel.cost


FORWARD = [
    Kernel("embed"),
    Kernel("norm", ("embed",), 0.2),
    Kernel("attention", ("norm",), 4.0),
    Kernel("mlp", ("attention",), 6.0),
]
BACKWARD = [
    Kernel("loss", ("logits",), 0.5),
    Kernel("logits", ("grad_scale",), 2.0),
    Kernel("grad_scale", ("loss",), 0.1),
]


def schedule(kernels: list[Kernel]) -> Schedule:
    result = Schedule()
    waiting = deque(kernels)
    while waiting:
        kernel = waiting.popleft()
        if all(name in result.order for name in kernel.needs):
            result.add(kernel)
        else:
            waiting.append(kernel)
    return result


def main() -> None:
    print("forward", schedule(FORWARD).order)
    print("both", schedule(FORWARD + BACKWARD).order)


if __name__ == "__main__":
    main()
