"""What some tests need of the system: they are skipped without it, and fail where CI=true."""

import os
import shutil

import pytest


def need(command):
    """Skip a test where a command is missing; with CI=true it fails instead."""
    if shutil.which(command) is None:
        reason = f"{command} is missing on this system"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
