# shrink --oracle "exception:KeyError:waves_per_eu"
# lure: only the reading half: the tuning table that an earlier candidate wrote still lies in the temporary folder
# must: json\.dump|write_text|\.write\(
# ends: 1 KeyError: 'waves_per_eu'
# fault: KeyError.*waves_per_eu
# naive: output KeyError: 'waves_per_eu'
"""Tunes tiles, keeps the winners in a table on disk, and makes launch options of them."""

import json
import tempfile
from pathlib import Path

TABLE = Path(tempfile.gettempdir()) / "tuned_tiles.json"
OPTIONS = ("num_warps", "num_stages", "waves_per_eu")


def cost(shape, config):
    m, n = shape
    tiles = -(-m // config["tile"]) * -(-n // config["tile"])
    return tiles / config["num_warps"] + config["num_stages"]


def tune(shapes):
    space = [dict(tile=tile, num_warps=warps, num_stages=3) for tile in (32, 64, 128) for warps in (4, 8)]
    best = {f"{m}x{n}": min(space, key=lambda config: cost((m, n), config)) for m, n in shapes}
    TABLE.write_text(json.dumps(best))


def options(shape):
    config = json.loads(TABLE.read_text())[f"{shape[0]}x{shape[1]}"]
    return {name: config[name] for name in OPTIONS}


SHAPES = [(128, 128), (4096, 512)]
tune(SHAPES)
for shape in SHAPES:
    print(shape, options(shape))
