"""The `fleetsheet` command and its subcommands. Heavy packages are imported inside commands, so that help answers at once."""

from __future__ import annotations

import click

from optimizer import __version__
from optimizer.cli import show
from optimizer.cli.catalog_command import catalog
from optimizer.cli.check_command import check
from optimizer.cli.plan_command import plan
from optimizer.cli.template_command import template
from optimizer.cli.verify_command import verify

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="fleetsheet")
def main() -> None:
    """Plan the cheapest fleet that serves an LLM forecast, with proof.

    \b
    First steps:
      fleetsheet template -o forecast.xlsx          the workbook to fill in
      fleetsheet check forecast.xlsx                what was understood: unit, peak, mean, every doubt with its cell
      fleetsheet plan forecast.xlsx -o plan.xlsx    the proven cheapest mix, as a workbook
      fleetsheet verify plan.xlsx                   whether a plan workbook is still true

    \b
    Exit codes: 0 done, 1 a fault of fleetsheet, 2 wrong use, 3 input refused, 4 no plan can meet it,
    5 time limit reached with the gap open, 6 output cannot be written.
    """
    show.never_fail_on_letters()


for command in (template, check, plan, verify, catalog):
    main.add_command(command)
