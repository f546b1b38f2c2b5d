"""The package as others install it: what the Dockerfile does, done here without Docker.

Every instruction is carried out as it stands, with three differences that save minutes: the
packages that Plaudit needs, and only those, are links to the ones that are installed here, which
pip then finds to be there; setuptools is the one that is installed here; and one function is
compiled ahead instead of all of them.
"""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import httpx
import pytest
from packaging.requirements import Requirement

from tests.support.dockerfile import Place, read_stages
from tests.support.running import create_agent, wait_until
from tests.support.system import need

ROOT = Path(__file__).parent.parent
NOBODY = 65534
BUILD, IMAGE = read_stages(ROOT / "Dockerfile")
WARM_UP = "from app.planning.warm_up import warm_up; warm_up()"
COMPILE = "from app.planning.rows import shift; shift(1.0, 0.5)"
COUNT = "print(*(sum(n.values()) for n in (shift.stats.cache_hits, shift.stats.cache_misses)))"


@pytest.fixture(scope="module")
def place():
    """What the image would hold, below a folder that other users can see."""
    root = Path(tempfile.mkdtemp(prefix="plaudit-image-"))
    root.chmod(0o755)
    kept = ("PLAUDIT_", "PYTHON", "COV_", "NUMBA_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(kept)}
    environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    place = Place(root, environment)
    build(place)
    yield place
    shutil.rmtree(root)


def build(place):
    """The first stage."""
    place.set_all(BUILD)
    place.copy_all(BUILD, ROOT)
    work = Path(place.path("/src"))
    for command in BUILD.all("RUN"):
        quick = command.replace("pip wheel", "pip wheel --no-build-isolation")
        place.run(quick.replace(WARM_UP, COMPILE), work)
        if "venv" in command:
            link_what_is_needed(site_packages(place))


def site_packages(place):
    (found,) = Path(place.path("/opt/plaudit/lib")).glob("python*/site-packages")
    return found


def link_what_is_needed(folder):
    """Make what Plaudit needs to run, and nothing else, look installed in a folder."""
    here = Path(sysconfig.get_path("purelib"))
    needs = dependencies(ROOT) + extra("postgres") + dependencies(ROOT / "client")
    for name in closure(needs) - {"plaudit-client"}:
        tops = {Path(file).parts[0] for file in distribution(name).files}
        for top in tops - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(here / top)


def dependencies(folder):
    return tomllib.loads((folder / "pyproject.toml").read_text())["project"]["dependencies"]


def extra(name):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project["optional-dependencies"][name]


def closure(needs):
    """The names of distributions and of everything that they need."""
    found, waiting = set(), [(need, "") for need in needs]
    while waiting:
        text, extra_of = waiting.pop()
        need = Requirement(text)
        name = re.sub(r"[-_.]+", "-", need.name).lower()
        wanted = need.marker is None or need.marker.evaluate({"extra": extra_of})
        if wanted and name not in found:
            found.add(name)
            theirs = () if name == "plaudit-client" else distribution(name).requires or ()
            waiting += [(one, option) for one in theirs for option in ("", *need.extras)]
    return found


def test_the_wheel_holds_the_migrations(place):
    held = {name for name in contents(place, "plaudit") if name.startswith("app/migrations/")}
    versions = {f"versions/{path.name}" for path in (ROOT / "alembic/versions").glob("*.py")}
    assert versions
    assert held == {f"app/migrations/{name}" for name in ("env.py", "script.py.mako", *versions)}


@pytest.mark.parametrize(
    ("name", "folder", "package"),
    [("plaudit", "", "app"), ("plaudit_client", "client/src/", "plaudit")],
)
def test_a_wheel_holds_every_file_of_its_package(place, name, folder, package):
    listed = subprocess.run(
        ["git", "ls-files", folder + package], cwd=ROOT, capture_output=True, text=True, check=False
    )
    tracked = {path for path in listed.stdout.splitlines() if (ROOT / path).exists()}
    assert {path.removeprefix(folder) for path in tracked} - contents(place, name) == set()


def contents(place, name):
    """The names of the files in the wheel of a distribution."""
    (wheel,) = Path(place.path("/wheels")).glob(f"{name}-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_everything_is_compiled_ahead():
    assert any(command.endswith(f'-I -c "{WARM_UP}"') for command in BUILD.all("RUN"))
    assert set(BUILD.all("ENV")) <= set(IMAGE.all("ENV"))  # it looks where the build put it


def test_another_user_finds_what_was_compiled(place):
    """Also once the image's layers have rounded the ages of files to seconds."""
    sources = list((site_packages(place) / "app").rglob("*.py"))
    assert {path.stat().st_mtime_ns % 10**9 for path in sources} == {0}
    cache = Path(place.path("/var/cache/plaudit"))
    give(cache)
    place.set_all(IMAGE)
    command = [*other_user(), "python", "-I", "-c", f"{COMPILE}; {COUNT}"]
    run = subprocess.run(command, env=place.environment, capture_output=True, text=True)
    assert run.stdout.split() == ["1", "0"], run.stderr


@pytest.mark.slow
def test_another_user_runs_it(place):
    """It starts, is healthy, keeps its data where it should, and stops when told to."""
    data = Path(place.path(IMAGE.one("VOLUME")))
    data.mkdir()
    give(data, Path(place.path("/var/cache/plaudit")))
    place.set_all(IMAGE)
    place.environment |= {"PLAUDIT_PORT": "0", "PLAUDIT_LEARNING_PROCESSES": "1"}
    place.environment |= {"PLAUDIT_ADMIN_KEY": "0123456789abcdef", "HOME": "/nonexistent"}
    with Running(place, data) as server:
        check = [part.replace(":8000", f":{server.port}") for part in IMAGE.healthcheck]
        assert subprocess.run([*other_user(), *check], env=place.environment).returncode == 0
        with server.client() as client:
            create_agent(client)
    assert server.process.returncode == 0
    assert server.lines[-1].rstrip().endswith("stopped")
    assert (data / "plaudit.db").stat().st_uid == (NOBODY if os.getuid() == 0 else os.getuid())


@pytest.mark.slow
def test_it_does_not_let_anybody_in(place):
    """The image listens to everybody, so that without a key it must not start."""
    place.set_all(IMAGE)
    environment = {k: v for k, v in place.environment.items() if k != "PLAUDIT_ADMIN_KEY"}
    run = subprocess.run(IMAGE.command, env=environment, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "PLAUDIT_ADMIN_KEY" in run.stderr


def give(*folders):
    """Hand folders to the user that the server runs as."""
    if os.getuid() == 0:
        for folder in folders:
            for path in [folder, *folder.rglob("*")]:
                os.chown(path, NOBODY, NOBODY)


def other_user():
    """What makes a command run as nobody, who may read, but not write, wherever Python is."""
    if os.getuid() != 0:
        return []
    need("setpriv")
    return [
        "setpriv",
        f"--reuid={NOBODY}",
        f"--regid={NOBODY}",
        "--clear-groups",
        "--inh-caps=+dac_read_search",
        "--ambient-caps=+dac_read_search",
    ]


class Running:
    """The image's command as another user."""

    def __init__(self, place, folder):
        self.process = subprocess.Popen(
            [*other_user(), *IMAGE.command],
            cwd=folder,
            env=place.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines = []
        self._reader = threading.Thread(target=self._follow, daemon=True)
        self._reader.start()

    def __enter__(self):
        found = wait_until(lambda: self._listens() or self.process.poll() is not None, 120)
        if found is True:
            self._close()
            raise RuntimeError("it ended: " + "".join(self.lines))
        self.port = int(found)
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self._close()

    def _close(self):
        self.process.wait(60)
        self._reader.join()
        self.process.stdout.close()

    def client(self):
        headers = {"Authorization": "Bearer 0123456789abcdef"}
        return httpx.Client(base_url=f"http://127.0.0.1:{self.port}", headers=headers, timeout=60)

    def _follow(self):
        self.lines += self.process.stdout

    def _listens(self):
        found = re.search(r"listens on http://\S+:(\d+)", "".join(self.lines))
        return found and found[1]
