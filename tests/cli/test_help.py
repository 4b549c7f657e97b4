"""Help: at once, without heavy packages, for every command and option; and its examples are true."""

from __future__ import annotations

import re
import subprocess
import sys

import click
import pytest

from optimizer import __version__
from optimizer.cli.main import main
from optimizer.errors import ExitCode
from tests.cli.running import ROOT, commands, invoke, parse

HEAVY = ("pandas", "numpy", "scipy", "pulp", "highspy", "openpyxl", "xlsxwriter", "python_calamine", "pydantic", "rich")
NAMES = ["fleetsheet", *(name for name, _ in commands())]
_COMMANDS = {"fleetsheet": main, **dict(commands())}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_every_command_answers(name: str, flag: str) -> None:
    result = invoke(*name.split()[1:], flag)
    assert result.exit_code == 0
    assert result.stdout.startswith(f"Usage: {'main' if name == 'fleetsheet' else 'main ' + name.split(' ', 1)[1]} ")
    assert result.stderr == ""


def test_help_imports_nothing_heavy() -> None:
    """All helps in one process: none of them may pull in a package that takes long to load."""
    script = (
        "import contextlib, io, sys\n"
        "from optimizer.cli import main\n"
        f"for name in {NAMES!r}:\n"
        "    with contextlib.redirect_stdout(io.StringIO()) as out:\n"
        "        main([*name.split()[1:], '--help'], standalone_mode=False)\n"
        "    assert out.getvalue().startswith('Usage: '), name\n"
        f"print(sorted(set({HEAVY!r}) & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("name", NAMES)
def test_every_command_and_option_has_help(name: str) -> None:
    command = _COMMANDS[name]
    assert command.help and command.help.strip()
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            assert parameter.help, f"{name} {parameter.opts[0]} has no help"


@pytest.mark.parametrize("name", NAMES)
def test_examples_in_help_parse(name: str) -> None:
    lines = re.findall(r"^\s*(fleetsheet .+)$", _COMMANDS[name].help or "", re.MULTILINE)
    for line in lines:
        parse(re.split(r"\s{3,}", line)[0])
    assert lines or name not in {"fleetsheet", "fleetsheet plan", "fleetsheet check", "fleetsheet template"}


def test_exit_codes_are_explained() -> None:
    told = {int(number) for number in re.findall(r"\b(\d) [a-z]", (main.help or "").split("Exit codes:")[1])}
    assert told == {int(code) for code in ExitCode}


def test_version() -> None:
    assert invoke("--version").stdout == f"fleetsheet, version {__version__}\n"


def test_environment_variables_set_no_option(monkeypatch: pytest.MonkeyPatch) -> None:
    """An option that came from elsewhere than the command would not stand in the plan's log."""
    for variable in ("FLEETSHEET_PLAN_GAP", "FLEETSHEET_CHECK_UNIT", "GAP", "PLAN_GAP"):
        monkeypatch.setenv(variable, "nonsense")
    context = parse("fleetsheet plan forecast.xlsx")
    assert context.params["gap"] is None
    assert context.params["unit"] is None
