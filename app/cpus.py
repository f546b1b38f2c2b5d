"""The number of processors that this process may use: affinity mask and cgroup quota."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUP = Path("/proc/self/cgroup")


def usable_cpus() -> int:
    """How many processors this process may use, at least one."""
    return max(1, math.ceil(min(_affinity(), cgroup_quota(_CGROUPS, _OWN_CGROUP))))


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # macOS has no affinity mask


def cgroup_quota(root: Path, membership: Path) -> float:
    """The CPU quota in processors, the smallest of this process's cgroup and all above it.

    Version 2 has ``cpu.max`` ("200000 100000" is two processors), version 1 the two numbers in
    files of their own. A container sees its own cgroup as the root.
    """
    quotas = [math.inf]
    for folder in _folders(root, membership):
        quotas += [_version_2(folder / "cpu.max"), _version_1(folder)]
    return min(quotas)


def _folders(root: Path, membership: Path) -> list[Path]:
    """The folders of the cgroups that this process is in, from the root down."""
    folders = [root, root / "cpu"]
    for line in _read(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "cpu" if controllers else root
        parts = Path(path.lstrip("/")).parts
        folders += [top.joinpath(*parts[: i + 1]) for i in range(len(parts))]
    return folders


def _version_2(file: Path) -> float:
    return _processors(*_read(file).split())


def _version_1(folder: Path) -> float:
    return _processors(_read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us"))


def _processors(quota: str = "", period: str = "") -> float:
    """Quota over period; "max", -1 and a missing file mean that there is no limit."""
    try:
        share = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):
        return math.inf
    return share if share > 0 else math.inf


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""
