"""`fleetsheet template`: the workbook people fill in."""

from __future__ import annotations

import shlex

import click

from optimizer.cli import show


@click.command()
@click.option("-o", "--output", required=True, type=click.Path(), metavar="FILE", help="Workbook to write (.xlsx).")
@click.option("--example", is_flag=True, help="Write the filled example (real traffic, sweeps and prices) instead of the form.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def template(output: str, example: bool, force: bool) -> None:
    """Write the forecast workbook to fill in, or a filled example.

    \b
    fleetsheet template -o forecast_2027Q1.xlsx
    fleetsheet template --example -o example.xlsx
    """
    with show.faults_as_sentences():
        from optimizer.run import write_template_file

        write_template_file(output, example=example, force=force)
        show.words(f"wrote {output}")
        if not example:
            show.words(f"Fill in what is yellow, then: fleetsheet check {shlex.quote(output)}")
        else:
            show.words(f"Next: fleetsheet plan {shlex.quote(output)} -o plan.xlsx")
