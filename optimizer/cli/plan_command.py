"""`fleetsheet plan`: from a forecast to the proven cheapest mix."""

from __future__ import annotations

import shlex
import sys
from typing import TYPE_CHECKING, Any

import click

from optimizer.cli import show
from optimizer.cli.options import Finite, case_options, load_options
from optimizer.errors import ExitCode

if TYPE_CHECKING:
    from optimizer.report.result import PlanResult

_EXIT = {
    "optimal": ExitCode.DONE,
    "gap_open": ExitCode.GAP_OPEN,
    "no_plan": ExitCode.GAP_OPEN,
    "infeasible": ExitCode.INFEASIBLE,
    "refused": ExitCode.REFUSED,
}


@click.command()
@click.argument("forecast", type=click.Path())
@click.option("-o", "--output", type=click.Path(), metavar="FILE", help="Plan workbook to write (.xlsx).")
@click.option("--json", "as_json", is_flag=True, help="The whole result as one JSON object on stdout.")
@click.option("--gap", type=Finite(0, 1), metavar="SHARE", help="Relative gap that counts as optimal; 0 = full proof.")
@click.option("--time-limit", type=Finite(0), metavar="SECONDS", help="Time for building and solving.")
@click.option("--solver", default="HiGHS", show_default=True, metavar="NAME", help="Solver to use: any that PuLP finds here.")
@click.option("--no-baselines", is_flag=True, help="Skip what people would do without a plan.")
@click.option("--explain", is_flag=True, help="Solve again for what limits, headroom and offers left out are worth.")
@click.option("--force", is_flag=True, help="Overwrite an output file that is not a fleetsheet plan.")
@case_options
def plan(
    forecast: str, output: str | None, as_json: bool, solver: str, no_baselines: bool, explain: bool, force: bool, **chosen: Any
) -> None:
    """Prove the cheapest mix of owned, reserved, on-demand, spot and API capacity that serves FORECAST.

    \b
    fleetsheet plan forecast.xlsx -o plan.xlsx
    fleetsheet plan demand.xlsx --model MiniMax-M2.5 --input-tokens 1024 --output-tokens 1024 --ttft-ms 1000 --tpot-ms 30
    """
    with show.faults_as_sentences():
        from optimizer.run import PlanRequest, run_plan, solvers

        named = {name.casefold(): name for name in solvers()}
        if solver.casefold() not in named:
            known = ", ".join(named.values())
            raise click.BadParameter(f"{solver!r} is not found here; there are {known}", param_hint="--solver")
        with show.progress(f"planning {forecast}") as watch:
            result = run_plan(PlanRequest(
                forecast=forecast, load=load_options(chosen), output=output, baselines=not no_baselines, force=force,
                command=shlex.join(["fleetsheet", *sys.argv[1:]]), solver=named[solver.casefold()], watch=watch, explain=explain,
            ))
        if as_json:
            from optimizer.report.json_result import plan_json

            show.result_json(plan_json(result))
        elif result.status != "refused":
            from optimizer.report.summary import summary_lines

            show.result_lines(summary_lines(result))
        else:
            show.problems("warning", result.warnings)
        show.assumptions(result.case.assumptions if result.case else ())
        show.problems("error", result.errors)
        show.leave(_exit_code(result))


def _exit_code(result: PlanResult) -> ExitCode:
    from optimizer.run import CANNOT_WRITE

    unwritten = any(problem.code == CANNOT_WRITE for problem in result.errors)
    return ExitCode.CANNOT_WRITE if unwritten else _EXIT[result.status]
