"""`fleetsheet check`: what was understood of a forecast, before anything is planned."""

from __future__ import annotations

from typing import Any

import click

from optimizer.cli import show
from optimizer.cli.options import case_options, load_options
from optimizer.errors import ExitCode


@click.command()
@click.argument("forecast", type=click.Path())
@case_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def check(forecast: str, as_json: bool, **chosen: Any) -> None:
    """Say what was understood of FORECAST: workloads, unit, peak, mean, and every doubt with its cell.

    \b
    fleetsheet check forecast.xlsx
    fleetsheet check demand.csv --unit tok/s --model MiniMax-M2.5
    """
    with show.faults_as_sentences():
        from optimizer.report.json_result import check_json
        from optimizer.run import run_check

        result = run_check(forecast, load_options(chosen))
        if as_json:
            show.result_json(check_json(result.workloads, result.warnings, result.errors))
        else:
            show.result_lines(result.lines)
            show.problems("warning", result.warnings)
        show.assumptions(result.assumptions)
        show.problems("error", result.errors)
        show.leave(ExitCode.REFUSED if result.errors else ExitCode.DONE)
