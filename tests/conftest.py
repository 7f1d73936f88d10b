"""Tests marked `gpu` run only where an NVIDIA GPU answers; everything else runs anywhere."""

from __future__ import annotations

import ctypes
import itertools
import os
import tempfile
from collections.abc import Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from hypothesis import settings

from shrinkray_gpu.corpus.replayer import Replayer
from shrinkray_gpu.runner import guarded
from tests.forked.keepers import ForkedKeeper

# Several tests at once on two cores: how long an example took says nothing. And the same examples each time: what fails
# is then what a change broke. `--hypothesis-profile search` draws new ones.
settings.register_profile("shared", deadline=None, derandomize=True)
settings.register_profile("search", deadline=None)
settings.load_profile("shared")


USUAL = guarded.KEEPER
FORKED = ForkedKeeper()
"""Its workers are forks of a process that has torch imported."""
ABOUT_PROCESSES = frozenset({"runner", "hostile", "capture", "cells", "versions", "gpu", "device"})
"""Rooms whose tests start interpreters: what they look at is how a process begins and ends."""


LONGEST = ("e2e", "traps", "hostile", "runner", "start")
"""Rooms whose tests take seconds each, and are run first: then the processes of xdist end together."""


@cache
def has_gpu() -> bool:
    """Asks NVML: importing torch for it costs seconds, and a cuInit in this process would spoil its forked children."""
    if os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1"):
        return False
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return False
    count = ctypes.c_uint()
    return nvml.nvmlInit_v2() == 0 and nvml.nvmlDeviceGetCount_v2(ctypes.byref(count)) == 0 and count.value > 0


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Iterator[None]:
    for item in items:
        if item.get_closest_marker("gpu") and not has_gpu():
            item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU"))
        if isinstance(item, pytest.Function) and _shares_with_its_module(item):
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))
    yield
    if config.getoption("loadgroup", False):  # a process of xdist's
        items.sort(key=lambda item: LONGEST.index(room(item)) if room(item) in LONGEST else len(LONGEST))
        _name_groups(items)
    # Ray's threads stay in the process, and what other tests fork from it then dies.
    items.sort(key=lambda item: item.get_closest_marker("ray") is not None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Before its fixtures: they start workers, too."""
    guarded.KEEPER = USUAL if room(item) in ABOUT_PROCESSES or has_gpu() else FORKED


def room(item: pytest.Item) -> str:
    """The folder or file of tests/ that it lies in."""
    return item.path.relative_to(Path(__file__).parent).parts[0]


def _name_groups(items: list[pytest.Item]) -> None:
    """Name the group in each test's id, by which xdist keeps it together. xdist 3.8 writes to `_nodeid`, which pytest
    9.2 does not read: without this, what a group shares is made in each process."""
    for item in items:
        group = item.get_closest_marker("xdist_group")
        if group and hasattr(item, "_id") and not item.nodeid.endswith(f"@{group.args[0]}"):
            item._id = type(item._id).parse(f"{item.nodeid}@{group.args[0]}")


def _shares_with_its_module(item: pytest.Function) -> bool:
    """Whether a fixture of the module's is made for it: then the module stays in one process of pytest, and that is
    made once."""
    made = item._fixtureinfo.name2fixturedefs.values()
    return any(each.scope == "module" for each in itertools.chain.from_iterable(made))


@pytest.fixture(scope="module")
def replayer() -> Iterator[Replayer]:
    """One worker for the programs that a module judges as cases of a corpus: torch is imported once, runs are forks.
    No longer than a module: a test that forks this process would remove the folder of a longer one when its child ends.

    On a GPU where there is one, since what the virtual GPU shows is shown there, too.
    """
    with closing(Replayer(arch=None if has_gpu() else 90, jobs=1)) as made:
        yield made


@pytest.fixture
def draws() -> Iterator[Path]:
    """For `chance.EVEN`: a file that all runs write to. Where candidates are fenced, the test names it as writable."""
    with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
        yield Path(file.name)
