"""Whether there is a GPU, told without asking the driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from shrinkray_gpu.device import gpus


@pytest.mark.parametrize(
    ("nodes", "visible", "there"),
    [
        (("nvidiactl", "nvidia0", "nvidia-uvm"), None, True),
        (("nvidiactl", "nvidia11"), "GPU-8a", True),
        (("nvidiactl", "nvidia0"), "-1", False),
        (("nvidiactl", "nvidia0"), "", False),
        (("nvidiactl", "nvidia-uvm"), None, False),  # as a library leaves it on a machine without one
        ((), None, False),
    ],
)
def test_a_device_is_there_and_not_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: tuple[str, ...], visible: str | None, there: bool
) -> None:
    for node in nodes:
        (tmp_path / node).touch()
    monkeypatch.setattr(gpus, "DEVICES", tmp_path)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert gpus.present() == there
