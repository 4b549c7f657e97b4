"""README is true: its commands parse, its targets, paths and names exist, and nothing the product has is missing from it."""

from __future__ import annotations

import csv
import re
import shlex
from pathlib import Path

import pytest

from optimizer.cli.main import main
from optimizer.errors import ExitCode
from tests.cli.running import commands, parse

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")
_BLOCKS = re.findall(r"^```sh\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)
_LINES = [line for block in _BLOCKS for line in block.splitlines()]
#: Code between backticks in running text.
_QUOTED = re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", TEXT, flags=re.MULTILINE | re.DOTALL))
COMMANDS = [line.split("  #")[0].strip() for line in (*_LINES, *_QUOTED) if line.startswith("fleetsheet ")]
LEAVES = sorted(name for name, command in commands() if not hasattr(command, "commands"))


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_parse(line: str) -> None:
    parse(line)


def test_commands_were_found() -> None:
    assert len(COMMANDS) >= len(LEAVES)


@pytest.mark.parametrize("name", LEAVES)
def test_every_command_is_shown(name: str) -> None:
    assert any(line == name or line.startswith(f"{name} ") for line in COMMANDS)


def test_options_in_running_text_exist() -> None:
    known = {option for _, command in commands() for parameter in command.params for option in parameter.opts} | {"--strict"}
    quoted = {word for code in _QUOTED if code.startswith("--") for word in shlex.split(code) if word.startswith("--")}
    assert quoted and quoted <= known


def test_every_option_of_plan_is_explained() -> None:
    told = set(re.findall(r"(?<![\w-])--?[a-z][a-z-]*", TEXT))
    for parameter in main.commands["plan"].params:
        assert parameter.name == "forecast" or told & set(parameter.opts), parameter.opts


def test_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert phony is not None
    used = set(re.findall(r"\bmake ([a-z]+)", "\n".join((*_LINES, *_QUOTED))))
    assert used and used <= set(phony[1].split())


def test_paths_exist() -> None:
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    rooms = re.findall(r"`(optimizer/[a-z_./]+)`", TEXT)
    assert links and rooms
    for path in (*links, *rooms, "templates/example.xlsx", ".ci/run"):
        assert (ROOT / path).exists(), path


def test_every_room_is_named() -> None:
    places = [path for path in (ROOT / "optimizer").iterdir() if not path.name.startswith("_")]
    table = TEXT[TEXT.index("| room |"):]
    for place in places:
        assert re.search(rf"`(optimizer/)?{re.escape(place.name)}`", table), place.name


def test_exit_codes_are_complete() -> None:
    table = TEXT[TEXT.index("| code |"):]
    told = [int(code) for code in re.findall(r"^\| (\d) \|", table, re.MULTILINE)]
    assert told == sorted(int(code) for code in ExitCode)


def test_sheets_exist() -> None:
    from optimizer.report.plan_book import CONTROL, RESULTS, WORKINGS
    from optimizer.report.sheets.inputs import INPUTS

    table = TEXT[TEXT.index("| sheet |"):TEXT.index("Decisions are values.")]
    cells = re.findall(r"^\| ([A-Z][^|]*) \|", table, re.MULTILINE)
    told = [name for cell in cells for name in re.split(r", | and the input tables", cell) if name]
    assert told == [*RESULTS, *WORKINGS, INPUTS, *CONTROL]


def test_the_plan_shown_is_one_of_the_example() -> None:
    """Offers and APIs of the mix exist in the example."""
    block = TEXT[TEXT.index("Offer  "):].split("\n\n")[0].splitlines()[1:]
    example = ROOT / "templates" / "example"
    known = set()
    for table, key in (("offers", "offer"), ("api_prices", "api")):
        with (example / f"{table}.csv").open(newline="", encoding="utf-8") as stream:
            known |= {row[key] for row in csv.DictReader(stream)}
    shown = {line.split()[0] for line in block}
    assert shown and shown <= known
