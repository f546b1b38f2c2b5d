"""How many processors this process may use."""

import math
import os

import pytest

from app import cpus


@pytest.fixture
def cgroups(tmp_path, monkeypatch):
    """Write files as a kernel would: `cgroups({"cpu.max": "…"}, own="0::/a/b")`."""
    root, own = tmp_path / "cgroup", tmp_path / "own"

    def write(files, own_line="0::/"):
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        own.write_text(own_line + "\n")
        monkeypatch.setattr(cpus, "_CGROUPS", root)
        monkeypatch.setattr(cpus, "_OWN_CGROUP", own)
        return cpus.cgroup_quota(root, own)

    return write


@pytest.mark.parametrize(
    ("files", "own", "quota"),
    [
        ({"cpu.max": "200000 100000\n"}, "0::/", 2.0),
        ({"cpu.max": "max 100000\n"}, "0::/", math.inf),
        ({"cpu.max": "50000 100000\n"}, "0::/", 0.5),
        ({"a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, "0::/a/b", 3.0),
        ({"a/cpu.max": "300000 100000\n"}, "0::/elsewhere", math.inf),
        ({"cpu/cpu.cfs_quota_us": "150000", "cpu/cpu.cfs_period_us": "100000"}, "1:cpu:/", 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "1:cpu:/", math.inf),
        (
            {"cpu/x/cpu.cfs_quota_us": "400000", "cpu/x/cpu.cfs_period_us": "100000"},
            "4:memory:/y\n3:cpu,cpuacct:/x",
            4.0,
        ),
        ({}, "0::/", math.inf),
        ({"cpu.max": "nonsense"}, "0::/", math.inf),
    ],
)
def test_the_quota_of_cgroups(cgroups, files, own, quota):
    assert cgroups(files, own) == quota


def test_a_quota_below_the_affinity_counts_rounded_up(cgroups, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(64)), raising=False)
    cgroups({"cpu.max": "150000 100000"})
    assert cpus.usable_cpus() == 2


def test_the_affinity_counts_where_it_is_smaller(cgroups, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {3, 5, 7}, raising=False)
    cgroups({"cpu.max": "800000 100000"})
    assert cpus.usable_cpus() == 3


def test_there_is_always_one(cgroups, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    cgroups({"cpu.max": "1000 100000"})
    assert cpus.usable_cpus() == 1
