"""Copies from pinned memory that the host does not wait for, on the virtual GPU: who overwrites what is copied before
it has waited has a launch that may read the later contents; who waits in whatever way has not."""

from __future__ import annotations

import pytest

from shrinkray_gpu.runner.inside.vgpu.pinned_copies import AT_ONCE, COPIES, LAUNCHES
from tests.corpus.fixes import mechanisms
from tests.runner.inside.conftest import Outcome, Play

CASE = next(each for each in mechanisms() if each.name == "stale_trip_count")

SCRIPT = """
import numpy, torch, triton, triton.language as tl

@triton.jit
def put(out, place):
    tl.store(out + tl.load(place), 0)

@triton.jit
def spin(x, rounds):
    w = tl.load(x)
    for _ in range(rounds):
        w = w * 0.5 + 1
    tl.store(x, w)

def step(h, d):
    d.copy_(h, non_blocking=True)
    put[(1,)](x, d)

x = torch.zeros(8, device="cuda")
h = torch.zeros(4, dtype=torch.int32, pin_memory=True)
d = torch.zeros(4, dtype=torch.int32, device="cuda")
{body}
torch.cuda.synchronize()
"""
BOUNDS = frozenset({"static:bounds"})
FAR = 1 << 24


def played(play: Play, body: str, **more: dict[str, str]) -> Outcome:
    return play(SCRIPT.format(body=body), wants=BOUNDS, **more)


@pytest.mark.parametrize(
    "body",
    [
        f"step(h, d)\nh.fill_({FAR})",
        f"d.copy_(h, non_blocking=True)\nh.fill_({FAR})\nput[(1,)](x, d)",
        f"step(h, d)\nh.copy_(torch.full((4,), {FAR}, dtype=torch.int32))",
        f"step(h, d)\nh[0] = {FAR}",
        f"step(h, d)\nh += {FAR}",
        f"step(h, d)\nh[:2].add_({FAR})",
        f"step(h, d)\ntorch.add(h, {FAR}, out=h)",
        f"n = h.numpy()\nstep(h, d)\nn[0] = {FAR}",
        f"step(h, d)\nn = numpy.asarray(h)\nn[:] = {FAR}\nput[(1,)](x, d)",
        f"h = torch.zeros(4, dtype=torch.int32).pin_memory()\nstep(h, d)\nh.fill_({FAR})",
        f"d = h.to('cuda', non_blocking=True)\nput[(1,)](x, d)\nh.fill_({FAR})",
        f"d = h.cuda(non_blocking=True)\nput[(1,)](x, d)\nh.fill_({FAR})",
        f"h = torch.zeros(4, dtype=torch.int64, pin_memory=True)\nstep(h, d)\nh.fill_({FAR})",
        f"step(h[:1], d[:1])\nh.fill_({FAR})",
        f"for n in (0, {FAR}, 1):\n    h.fill_(n)\n    d.copy_(h, non_blocking=True)\n    n < 2 and put[(1,)](x, d)",
        f"e = torch.cuda.Event()\ne.record()\nstep(h, d)\ne.synchronize()\nh.fill_({FAR})",
        f"step(h, d)\ntorch.cuda.current_stream().wait_event(torch.cuda.Event())\nh.fill_({FAR})",
        f"step(h, d)\nx.zero_()\nd.zero_()\nh.fill_({FAR})",
    ],
)
def test_what_the_host_overwrites_too_early_may_be_read(play: Play, body: str) -> None:
    seen = played(play, body)
    assert seen.faults and seen.sticky == 700, (seen.faults, seen.error, seen.undecided)
    assert "before it had waited for a copy from there" in seen.faults[0]
    assert "illegal memory access" in seen.error


@pytest.mark.parametrize(
    "body",
    [
        f"step(h, d)\ntorch.cuda.synchronize()\nh.fill_({FAR})",
        f"step(h, d)\ntorch.cuda.current_stream().synchronize()\nh.fill_({FAR})",
        f"step(h, d)\ne = torch.cuda.Event()\ne.record()\ne.synchronize()\nh.fill_({FAR})",
        f"step(h, d)\ntorch.cuda.current_stream().record_event().synchronize()\nh.fill_({FAR})",
        f"step(h, d)\ne = torch.cuda.Event()\ne.record()\nwhile not e.query(): pass\nh.fill_({FAR})",
        f"step(h, d)\nx[0].item()\nh.fill_({FAR})",
        f"step(h, d)\nx.cpu()\nh.fill_({FAR})",
        f"step(h, d)\nx.copy_(torch.zeros(8))\nh.fill_({FAR})",
        f"step(h, d)\nx.copy_(torch.zeros(8, device='cuda').cpu())\nh.fill_({FAR})",
        f"step(h, d)\ntorch.zeros(8).cuda()\nh.fill_({FAR})",
        f"step(h, d)\ntorch.tensor([1], device='cuda')\nh.fill_({FAR})",
        f"step(h, d)\nprint(x)\nh.fill_({FAR})",
        f"d.copy_(h)\nput[(1,)](x, d)\nh.fill_({FAR})",
        f"h = torch.zeros(4, dtype=torch.int32)\nstep(h, d)\nh.fill_({FAR})",
        f"g = torch.zeros(4, dtype=torch.int32)\nh = g.pin_memory()\nstep(h, d)\ng.fill_({FAR})",
        "for n in range(4):\n    h = torch.full((4,), n, dtype=torch.int32).pin_memory()\n    step(h, d)\n    del h",
        "step(h, d)\nh.fill_(0)",
        "step(h, d)\nh.fill_(7)",
        f"step(h[:1], d[:1])\nh[1] = {FAR}",
        f"step(h[::2], d[::2])\nh.fill_({FAR})",
        f"step(h[:1].expand(4), d)\nh.fill_({FAR})",
        f"d.copy_(h, non_blocking=True)\nd.zero_()\nput[(1,)](x, d)\nh.fill_({FAR})",
        f"d.copy_(h, non_blocking=True)\nh.fill_({FAR})\nd.zero_()\nput[(1,)](x, d)",
        f"far = torch.full((4,), {FAR}, dtype=torch.int32, device='cuda')\nstep(h, d)\nh.copy_(far, non_blocking=True)",
        f"n = h.numpy()\nstep(h, d)\ntorch.cuda.synchronize()\nn[0] = {FAR}\nput[(1,)](x, torch.zeros_like(d))",
        "f = torch.zeros(8, pin_memory=True)\nx.copy_(f, non_blocking=True)\nput[(1,)](x, d)\nf.fill_(3)",
    ],
)
def test_who_waits_or_overwrites_nothing_that_matters_is_clean(play: Play, body: str) -> None:
    seen = played(play, body)
    assert not seen.error and not seen.faults and not seen.undecided
    assert all(launch["unfollowed"] == "" and not launch["causes"] for launch in seen.launches)


@pytest.mark.parametrize(
    "body",
    [
        f"d.copy_(h, non_blocking=True)\nput[(1,)](x, d * 1)\nh.fill_({FAR})",
        f"d.copy_(h, non_blocking=True)\nd.add_(1)\nput[(1,)](x, d)\nh.fill_({FAR})",
        f"d.copy_(h, non_blocking=True)\nh.fill_({FAR})\nput[(1,)](x, d * 1)",
        "h = torch.zeros(1 << 19, dtype=torch.int32, pin_memory=True)\n"
        f"d = torch.zeros(1 << 19, dtype=torch.int32, device='cuda')\nstep(h, d)\nh[5] = {FAR}",
    ],
)
def test_what_is_not_looked_at_is_unknown(play: Play, body: str) -> None:
    seen = played(play, body)
    assert not seen.error and not seen.faults and "the host overwrote" in "".join(seen.undecided)
    assert "".join(seen.undecided).count("before it had waited") == 1


def test_the_program_goes_on_as_on_a_device_that_is_not_late(play: Play) -> None:
    """So it is seen whether it goes wrong in any case; the error comes at its end, if it has waited."""
    late = f"step(h, d)\nh.fill_({FAR})\ntorch.cuda.synchronize()\n"
    seen = played(play, late + "print('goes on')")
    assert "goes on" in seen.printed and seen.sticky == 700 and "illegal memory access" in seen.error
    assert played(play, late + "raise SystemExit(0)").sticky == 700
    assert played(play, late + "int('x')").failure["type"] == "ValueError"  # type: ignore[index]
    both = played(play, late + "step(h, d)")
    assert len(both.faults) == 2 and "the host wrote" not in both.error


def test_who_never_waits_never_knows(play: Play) -> None:
    body = f"torch.cuda.synchronize = lambda: None\nstep(h, d)\nh.fill_({FAR})"
    seen = played(play, body)
    assert seen.faults and not seen.sticky and not seen.error


def test_many_launches_in_the_queue(play: Play) -> None:
    """Of most, only what they were launched with decides; of none is anything claimed that is not so."""
    body = f"step(h, d)\nfor n in range({LAUNCHES + 9}):\n    put[(n + 2,)](x, d)\n"
    assert not played(play, body).undecided
    late = played(play, body + f"h.fill_({FAR})")
    assert len(late.faults) == LAUNCHES + 10


def test_many_copies_in_the_queue(play: Play) -> None:
    """Each with other contents: so many are looked at, and of the others it is said that nobody knows."""
    body = f"for n in range({COPIES + 9}):\n    h.fill_(n % 8)\n    step(h, d)\n    put[(n + 2,)](x, d)\n"
    seen = played(play, body)
    assert not seen.faults and seen.undecided and "the host overwrote" in seen.undecided[0]
    assert seen.launches[-1]["unfollowed"] == ""
    assert played(play, body + f"h.fill_({FAR})").faults


def test_a_launch_that_is_repeated_is_judged_once(play: Play) -> None:
    seen = played(play, f"step(h, d)\nfor _ in range(9):\n    put[(1,)](x, d)\nh.fill_({FAR})")
    assert len(seen.faults) == 2  # of the first it is known what x holds


def test_waiting_for_each_launch_is_waiting(play: Play) -> None:
    """So it is on a device."""
    env = {"CUDA_LAUNCH_BLOCKING": "1"}
    assert not played(play, f"step(h, d)\nh.fill_({FAR})", env=env).faults
    assert played(play, f"d.copy_(h, non_blocking=True)\nh.fill_({FAR})\nput[(1,)](x, d)", env=env).faults


def test_the_cause_tells_who_wrote_and_what_the_device_is_busy_with(play: Play) -> None:
    seen = played(play, f"spin[(2,)](x, 1000)\nstep(h, d)\nh.fill_({FAR})")
    (launch,) = [each for each in seen.launches if each["fault"]]
    (cause,) = launch["causes"]
    line = SCRIPT[: SCRIPT.index("{body}")].count("\n") + 3
    assert cause["overwritten"] == f"script.py:{line}" and cause["overwritten"] in cause["sentence"]
    (busy,) = cause["busy"]
    assert "(2,)" in busy and "i32 1000" in busy
    torchs = played(play, f"torch.mm(x.view(4, 2), x.view(2, 4))\nstep(h, d)\nh.fill_({FAR})").launches[-1]
    assert torchs["causes"][0]["busy"] == ["mm [(4, 2), (2, 4)]"]
    warm = played(play, f"step(h, d)\ntorch.cuda.synchronize()\nstep(h, d)\nh.fill_({FAR})").launches[-1]["causes"][0]
    assert warm["busy"] == ["a copy of 16 bytes", AT_ONCE]


def test_what_goes_wrong_anyway_is_not_told_to_be_late(play: Play) -> None:
    seen = played(play, f"h.fill_({FAR})\nstep(h, d)\nh.fill_({2 * FAR})")
    (cause,) = seen.launches[-1]["causes"]
    assert not cause["overwritten"] and seen.faults


def test_pinned_is_what_was_pinned(play: Play) -> None:
    body = """
plain = torch.zeros(4)
pinned = plain.pin_memory()
print(plain.is_pinned(), pinned.is_pinned(), pinned[1:].is_pinned(), h.is_pinned(), pinned.pin_memory() is pinned)
print(torch.empty_like(plain, pin_memory=True).is_pinned(), x.is_pinned())
plain.fill_(1)
print(pinned.sum().item())
"""
    assert played(play, body).printed.split() == "False True True True True True False 0.0".split()


@pytest.mark.parametrize("file", ["failing.py", CASE.source.name])
def test_the_case_of_the_corpus_shows_it_and_its_fix_ends_it(play: Play, file: str) -> None:
    """Every launch of the fixed program is proved to be inside: a trip count of 8192 and all."""
    broken = (CASE.source.parent / file).read_text()
    seen = play(broken, wants=BOUNDS)
    (line,) = [number for number, text in enumerate(broken.splitlines(), 1) if "self.host.fill_" in text]
    cause = next(each for launch in seen.launches for each in launch["causes"])
    assert seen.sticky == 700 and cause["overwritten"] == f"script.py:{line}" and cause["operands"] == [8192]
    fixed = play(CASE.with_fix(broken), wants=BOUNDS)
    assert not fixed.error and not fixed.undecided
    assert all(launch["unfollowed"] == "" and not launch["causes"] for launch in fixed.launches)
