"""What Ray costs a cell: cells that do nothing, on a cluster of three nodes of one core on this machine.

    python -m benchmarks.ray_overhead --cells 500

Needs Ray. The cores are shared with what else runs here, so the figure is an upper bound for the driver's share.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from contextlib import closing
from pathlib import Path

from shrinkray_gpu.cells.ray_cluster import RayCluster
from tests.cells.toys import ToyCell

SMALL = {"object_store_memory": 80_000_000, "include_dashboard": False}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=500)
    count = parser.parse_args().cells
    os.environ["PYTHONPATH"] = str(Path(__file__).parents[1])  # for the workers
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, **SMALL})
    for _ in range(2):
        cluster.add_node(num_cpus=1, **SMALL)
    with closing(RayCluster(cluster.address, say=lambda text: None)) as engine:
        list(engine.run([ToyCell(str(number)) for number in range(30)]))  # all workers are there now
        began, used = time.monotonic(), time.process_time()
        assert len(list(engine.run([ToyCell(str(number)) for number in range(count)]))) == count
        seconds, used = time.monotonic() - began, time.process_time() - used
    cluster.shutdown()
    each = {"ms a cell": 1000 * seconds / count, "ms of the driver's CPU a cell": 1000 * used / count}
    load = {"ray": ray.__version__, "cores": os.cpu_count(), "load": os.getloadavg()[0]}
    print(json.dumps({"cells": count, **{name: round(value, 1) for name, value in each.items()}, **load}))


if __name__ == "__main__":
    main()
