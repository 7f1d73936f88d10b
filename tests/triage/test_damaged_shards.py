"""A folder that is no whole shard is refused in a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shrinkray_gpu.errors import UsageError
from shrinkray_gpu.reduction.journal_lines import sealed
from shrinkray_gpu.triage.shared_triage import _part
from shrinkray_gpu.triage.triage_journal import FILE, FORMAT

HEADER: dict[str, Any] = {"triage": FORMAT, "settings": {"shard": [1, 2]}, "ran": {}}


@pytest.mark.parametrize("lacking", ["ran", "settings", "triage"])
def test_a_header_that_lacks_a_part_is_no_shard_s(tmp_path: Path, lacking: str) -> None:
    (tmp_path / FILE).write_bytes(sealed(HEADER))
    assert _part(tmp_path).settings == HEADER["settings"]
    (tmp_path / FILE).write_bytes(sealed({name: value for name, value in HEADER.items() if name != lacking}))
    with pytest.raises(UsageError, match="is no shard of a triage"):
        _part(tmp_path)
