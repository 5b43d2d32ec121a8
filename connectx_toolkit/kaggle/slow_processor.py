"""Restricts processes to a share of one core: by a control group (cgroup), or by stopping and continuing them."""

import contextlib
import os
import time
from pathlib import Path
from typing import Any

from connectx_toolkit.machine.cores import CGROUPS

PERIOD = 10_000  # microseconds; a short quota period makes a process evenly slow, without long pauses


def _own_group(controller: str) -> str:
    """This process's group in the hierarchy of a cgroup v1 controller, or for "" in the unified hierarchy (v2).

    "" if it is in none, as on systems without /proc.
    """
    try:
        groups = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return ""
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            return path.strip("/")
    return ""


class Restriction:
    """A context manager that restricts jobs to ``share`` of one core; they are run with the settings in ``job``.

    kind: "a cgroup v2 quota", "a cgroup v1 quota", or "stopping and continuing it" if no group can be made.
    """

    def __init__(self, share: float):
        self.share = share
        self.kind = "stopping and continuing it"
        self._group: Path | None = None

    def __enter__(self) -> "Restriction":
        quota = max(1000, int(self.share * PERIOD))
        # The largest possible weights, so that the quota decides and not the other load of the machine.
        version_2 = (
            CGROUPS / _own_group(""),
            "a cgroup v2 quota",
            {"cpu.max": f"{quota} {PERIOD}", "cpu.weight": "10000"},
        )
        limits = {"cpu.cfs_period_us": str(PERIOD), "cpu.cfs_quota_us": str(quota), "cpu.shares": "262144"}
        version_1 = (CGROUPS / "cpu" / _own_group("cpu"), "a cgroup v1 quota", limits)
        for parent, kind, settings in (version_2, version_1):
            if self._make(parent / f"preflight-{os.getpid()}", settings):
                self.kind = kind
                break
        return self

    def _make(self, group: Path, settings: dict[str, str]) -> bool:
        """Makes a group with these settings. If this user or kernel cannot, returns False and leaves nothing behind."""
        try:
            group.mkdir()
        except OSError:
            return False
        try:
            for name, value in settings.items():
                if not (group / name).exists():
                    raise FileNotFoundError(name)
                (group / name).write_text(value)
        except OSError:
            group.rmdir()
            return False
        self._group = group
        return True

    def __exit__(self, *_: object) -> None:
        for _attempt in range(50):  # a killed process leaves its group a moment later
            if self._group is None:
                return
            with contextlib.suppress(OSError):
                self._group.rmdir()
                self._group = None
            time.sleep(0.02)

    @property
    def job(self) -> dict[str, Any]:
        """Settings to add to a job of the runner."""
        core = {"core": max(os.sched_getaffinity(0))} if hasattr(os, "sched_getaffinity") else {}
        return core | ({"cgroup": str(self._group)} if self._group else {"duty": self.share})
