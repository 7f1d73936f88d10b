"""Launches recorded in a CUDA graph: they run when it is replayed, and are lifted as plain launches of that moment."""

from __future__ import annotations

from shrinkray_gpu import lift
from shrinkray_gpu.runner.pool import Pool
from tests.lift.test_history import HEAD, listed

GRAPH = """\
import gc

def record(x, y):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        add[(1,)](x, y, 30, C=32)
        reset[(1,)](w)
    return graph

w = torch.zeros(8, dtype=torch.int32, device="cuda")
x, y = torch.ones(30, device="cuda"), torch.empty(30, device="cuda")
graph = record(x, y)
"""


def test_what_is_only_recorded_is_no_launch(pool: Pool) -> None:
    _, steps = listed(pool, GRAPH + "reset[(1,)](w)\n")
    assert steps.count("(1,)") == 1 and "add" not in steps


def test_each_replay_is_its_launches(pool: Pool) -> None:
    text = GRAPH + "for _ in range(3):\n    graph.replay()\n    torch.cuda.synchronize()\n"
    _, steps = listed(pool, text)
    round_ = "add[(1,)](x, y, 30, C=32)\nreset[(1,)](w)\ntorch.cuda.synchronize()"
    assert steps.count(round_) == 2 and steps.count("add[") == steps.count("reset[") == 3


def test_what_was_replayed_last_is_the_first_suspect(pool: Pool) -> None:
    late = "add[(1,)](torch.zeros(64, device='cuda'), torch.zeros(64, device='cuda'), 64, C=64)\n"
    run = pool.run(HEAD + GRAPH + late, capture="launch")
    assert not lift.offers(run)[0].graph
    run = pool.run(HEAD + GRAPH + late + "graph.replay()\n", capture="launch")
    first, second = lift.offers(run)[:2]
    assert (first.kernel, first.graph, second.kernel) == ("reset", True, "add")
    assert "C=32" in second.text


def test_inputs_are_those_of_the_first_replay(pool: Pool) -> None:
    """While it is recorded nobody can look at them."""
    run = pool.run(HEAD + GRAPH + "x.fill_(7)\ngraph.replay()\nx.fill_(8)\ngraph.replay()\n", capture="values")
    [text] = [offer.text for offer in lift.offers(run) if offer.kernel == "add"][:1]
    assert 'x = torch.full((30,), 7.0, device="cuda")' in text


def test_a_graph_that_is_gone_is_not_kept_alive(pool: Pool) -> None:
    gone = """
import weakref

there = weakref.ref(graph)
graph.replay()
del graph
gc.collect()
if there() is not None:
    raise SystemExit(9)
"""
    run = pool.run(HEAD + GRAPH + gone, capture="values")
    assert run.exit == 0, run.failure
