"""The chaos harness: a minute of it finds nothing, and it finds every fault that is planted."""

import pytest

from benchmarks.chaos.__main__ import text_of
from benchmarks.chaos.run import run_chaos

pytestmark = pytest.mark.slow


def test_a_minute_of_faults_loses_nothing():
    report = run_chaos(seconds=60, streams=300)
    assert report.failures == [], text_of(report)
    assert report.acknowledged > 300
    assert report.models >= 2
    assert sum(report.faults.values()) > 15
    assert report.faults["power cut"]
    assert report.faults["disk full"]


@pytest.mark.parametrize(
    ("planted", "found"),
    [
        ({"early": True}, "steps of"),  # acknowledged before the commit
        ({"PLAUDIT_SYNCHRONOUS": "NORMAL"}, "eps_"),  # pages that were not synced are dropped
        ({"twice": True}, "labels that were given twice in a row"),
        ({"unchecked": True}, "both of two contradicting labels were acknowledged"),
    ],
    ids=["early", "unsynced", "twice", "unchecked"],
)
def test_a_planted_fault_is_found(planted, found):
    for seed in range(3):  # faults happen at random moments
        report = run_chaos(seconds=30, seed=seed, streams=0, **planted)
        if any(found in failure for failure in report.failures):
            return
    pytest.fail(f"nothing found:\n{text_of(report)}")
