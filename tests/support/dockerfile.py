"""Carrying out a Dockerfile without Docker: its paths become paths below a folder."""

import json
import re
import shutil
import subprocess
from pathlib import Path

# The places that the image writes to; every other path is the system's own.
_PLACES = re.compile(r"(?<![\w.])/(src|wheels|opt/plaudit|var/cache/plaudit|data)\b")


class Stage:
    """The instructions between one FROM and the next."""

    def __init__(self, instructions):
        self.instructions = instructions

    def all(self, name):
        """What follows every instruction of a name."""
        return [rest for found, rest in self.instructions if found == name]

    def one(self, name):
        """What follows the last instruction of a name, which is the one that counts."""
        return self.all(name)[-1]

    @property
    def command(self):
        """What runs when a container starts: only the exec form, so that signals reach it."""
        return json.loads(self.one("ENTRYPOINT")) + json.loads(self.one("CMD"))

    @property
    def healthcheck(self):
        """The command that says whether a container is healthy."""
        return json.loads(self.one("HEALTHCHECK").partition("CMD")[2])


def read_stages(path):
    """The stages of a Dockerfile."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    instructions = [tuple(line.split(maxsplit=1)) for line in lines if line.strip()]
    starts = [i for i, (name, _) in enumerate(instructions) if name == "FROM"]
    return [
        Stage(instructions[start:end])
        for start, end in zip(starts, [*starts[1:], None], strict=True)
    ]


class Place:
    """A folder that stands for the root of an image."""

    def __init__(self, root, environment):
        self.root = root
        self.environment = environment

    def path(self, text):
        """A text with the places of the image below the folder."""
        return _PLACES.sub(lambda found: f"{self.root}{found[0]}", text)

    def set_all(self, stage):
        """Take over the environment of a stage."""
        for setting in stage.all("ENV"):
            name, value = setting.split("=", 1)
            self.environment[name] = self.path(value).replace("$PATH", self.environment["PATH"])

    def copy_all(self, stage, context):
        """Copy what a stage copies from the repository; how much that was."""
        work = Path(self.path(stage.one("WORKDIR")))
        work.mkdir(parents=True)
        for copy in stage.all("COPY"):
            *sources, _ = copy.split()
            for source in sources:
                if (context / source).is_dir():
                    skip = shutil.ignore_patterns("__pycache__", "*.egg-info")
                    shutil.copytree(context / source, work / source, ignore=skip)
                else:
                    shutil.copy2(context / source, work)

    def run(self, command, folder):
        """Carry out a RUN instruction."""
        done = subprocess.run(
            ["sh", "-c", self.path(command)],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
