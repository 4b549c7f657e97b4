"""How the tests of the command line run it: in this process, or as a program of its own where descriptors matter."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner, Result

from optimizer.cli.main import main
from tests.helpers.casebook import write_casebook
from tests.helpers.tables import Rows, small_tables

ROOT = Path(__file__).resolve().parents[2]


def invoke(*words: str | Path) -> Result:
    """Runs the command in this process; never a traceback."""
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert "Traceback" not in result.output
    return result


def invoke_json(*words: str | Path, code: int = 0) -> dict[str, Any]:
    """The one object on stdout of a command with --json, which ends with `code`."""
    result = invoke(*words, "--json")
    assert result.exit_code == code, result.output
    document: dict[str, Any] = json.loads(result.stdout)
    return document


def program(
    *words: str | Path, cwd: Path, env: dict[str, str] | None = None, shell: str = ""
) -> subprocess.CompletedProcess[str]:
    """Runs the command as a program in `cwd`; `shell`: commands of sh before it, such as a limit. Never a traceback."""
    command = [sys.executable, "-m", "optimizer", *map(str, words)]
    if shell:
        command = ["sh", "-c", f'{shell}; exec "$0" "$@"', *command]
    around = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    done = subprocess.run(command, cwd=cwd, env=around, capture_output=True, text=True, encoding="utf-8", check=False)
    assert "Traceback" not in done.stdout + done.stderr
    return done


def write_small(path: Path, **changes: Rows) -> Path:
    """The small case of the test tables with some tables changed, as a workbook."""
    return write_casebook(path, {**small_tables(), **changes})


def too_little_power(path: Path) -> Path:
    """15 nodes of 2 kW at PUE 1.2 are needed (11 live, 1 spare, a quarter more in rollout), which is 36 kW; the site has 20."""
    own = {**small_tables()["Offers"][0], "offer": "own", "purchase": "owned", "term_months": 48, "site": "hall"}
    hall = {"site": "hall", "racks": 10, "kw_per_rack": 40, "slots_per_rack": 4, "total_kw": 20, "pue": 1.2}
    return write_small(path, Offers=[own], Sites=[hall], Existing=[])


def commands(group: click.Group = main, name: str = "fleetsheet") -> Iterator[tuple[str, click.Command]]:
    """Every command below a group with its full name, groups included."""
    for word, command in group.commands.items():
        yield f"{name} {word}", command
        if isinstance(command, click.Group):
            yield from commands(command, f"{name} {word}")


def parse(line: str) -> click.Context:
    """Parses `fleetsheet ...` without running it; click.UsageError where a command, option or value does not exist."""
    first, *words = shlex.split(line)
    assert first == "fleetsheet"
    command: click.Command = main
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        found = command.commands.get(words[0])
        if found is None:
            raise click.UsageError(f"{line}: no command {words[0]}")
        command = found
        words = words[1:]
    # The settings of the whole (-h beside --help) come from above, and a command remembers those it first met.
    above = click.Context(main, info_name="fleetsheet", **main.context_settings)
    return command.make_context("fleetsheet", words, parent=above)
