"""`fleetsheet verify`: is a plan workbook true?"""

from __future__ import annotations

import click

from optimizer.cli import show
from optimizer.errors import ExitCode, Refused


@click.command()
@click.argument("plan", type=click.Path())
@click.option("--no-solve", is_flag=True, help="Do not solve the case again.")
@click.option("--json", "as_json", is_flag=True, help="The whole result as one JSON object on stdout.")
def verify(plan: str, no_solve: bool, as_json: bool) -> None:
    """Check the workbook PLAN: every formula, the decision against its own inputs, the money, and the proof.

    \b
    fleetsheet verify plan.xlsx
    fleetsheet verify plan.xlsx --no-solve --json

    Formulas are computed anew by LibreOffice where it is installed, on a private copy. Exit code 0: all agrees; 3: the workbook
    was edited or damaged, with sheet and cell; 1: the workbook is sound, but solving it again contradicts it.
    """
    with show.faults_as_sentences():
        from optimizer.report.verify import refused_json, verified_json, verified_lines, verify_plan

        try:
            with show.progress(f"verifying {plan}"):
                found = verify_plan(plan, solve=not no_solve)
        except Refused as refused:
            if as_json:
                show.result_json(refused_json(plan, refused))
            raise
        if as_json:
            show.result_json(verified_json(found))
        else:
            show.result_lines(verified_lines(found))
        show.leave(ExitCode.DONE if found.agrees else ExitCode.OUR_BUG if found.fault else ExitCode.REFUSED)
