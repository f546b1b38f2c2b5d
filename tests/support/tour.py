"""The answers on the tour of the HTTP interface: `python -m tests.support.tour` writes them anew.

Every block of commands in docs/api.md is followed by what a server answered to them, with lists cut
after their first entry. A test runs the commands and compares the fields of the answers.
"""

import json
import re
import subprocess
import tempfile
import textwrap
from pathlib import Path

from tests.support.running import RunningServer

PAGE = Path(__file__).parent.parent.parent / "docs/api.md"
_HERE = "http://127.0.0.1:8000"
_MARK = "@@@ next block @@@"
_COMMANDS = re.compile(r"(```sh\n.*?```\n)", re.DOTALL)
_STRING, _SPACE = re.compile(r'"(?:[^"\\]|\\.)*"'), "\0"  # no line breaks within texts
_SHOWN = re.compile(r"\n<!-- answers -->\n```json\n(.*?)```\n", re.DOTALL)


def commands(text):
    """The blocks of commands."""
    return [part[6:-4] for part in _COMMANDS.split(text) if part.startswith("```sh")]


def shown_answers(text):
    """The answers that the page shows after each block of commands; an empty list without any."""
    parts = _COMMANDS.split(text)
    following = [parts[i + 1] for i, part in enumerate(parts) if part.startswith("```sh")]
    found = [_SHOWN.match(part) for part in following]
    return [[] if match is None else read_answers(match[1]) for match in found]


def walk(text, url):
    """Run every block in one shell; the answers to each."""
    script = f"\necho '{_MARK}'\n".join(commands(text)).replace(_HERE, url)
    run = subprocess.run(["sh", "-euc", script], capture_output=True, text=True, timeout=300)
    assert (run.returncode, run.stderr) == (0, "")
    return [read_answers(output) for output in run.stdout.split(_MARK)]


def read_answers(output):
    """The JSON values of an output, one after the other."""
    decoder, answers, rest = json.JSONDecoder(), [], output.strip()
    while rest:
        answer, end = decoder.raw_decode(rest)
        answers.append(answer)
        rest = rest[end:].strip()
    return answers


def _cut(value):
    if isinstance(value, list):
        return [_cut(entry) for entry in value[:1]]
    if isinstance(value, dict):
        return {name: _cut(entry) for name, entry in value.items()}
    return round(value, 3) if isinstance(value, float) else value


def _block(answers):
    lines = []
    for answer in answers:
        lines += textwrap.wrap(
            _STRING.sub(lambda text: text[0].replace(" ", _SPACE), json.dumps(_cut(answer))),
            118,
            subsequent_indent=" ",
            break_long_words=False,
            break_on_hyphens=False,
        )
    return (
        "\n<!-- answers -->\n```json\n" + "\n".join(lines).replace(_SPACE, " ") + "\n```\n"
        if lines
        else ""
    )


def main():
    """Run the commands of the page against a new server, and write the answers below them."""
    text = _SHOWN.sub("", PAGE.read_text())
    with tempfile.TemporaryDirectory() as folder, RunningServer(Path(folder)) as server:
        answers = iter(walk(text, server.url))
    written = [
        part + _block(next(answers)) if part.startswith("```sh") else part
        for part in _COMMANDS.split(text)
    ]
    PAGE.write_text("".join(written))


if __name__ == "__main__":
    main()
