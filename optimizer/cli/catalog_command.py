"""`fleetsheet catalog`: look into the catalogs, check them, and turn the field's price sources into rows."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from optimizer.cli import show
from optimizer.cli.options import Finite
from optimizer.errors import ExitCode, Problem, Refused

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _folder(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    if value == "none":
        raise click.BadParameter("none holds nothing to look at; name a folder of CSV files.")
    return value


def _day(_context: click.Context, _parameter: click.Parameter, value: datetime.datetime | None) -> datetime.date | None:
    return None if value is None else value.date()


_DATE = click.DateTime(formats=["%Y-%m-%d"])
_json = click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
_catalogs = click.option(
    "--catalogs", metavar="DIR", callback=_folder, help="Folder of catalogs to read instead of the shipped ones."
)
_today = click.option("--today", type=_DATE, callback=_day, metavar="DATE", help="Day to count ages from  [default: today]")
_stale = click.option(
    "--stale-days", type=Finite(0), metavar="DAYS",
    help="Age from which a price counts as old  [default: the policy's, 90]",
)


def _answer(as_json: bool, document: dict[str, Any], lines: Sequence[str]) -> None:
    """The result on stdout: one object, or lines."""
    if as_json:
        show.result_json({"status": "ok", "warnings": [], "errors": [], **document})
    else:
        for line in lines:
            click.echo(line)


class _Refusals:
    """Refusals of a command: one object on stdout with --json, else sentences; unknown tables are wrong use."""

    def __init__(self, as_json: bool) -> None:
        self.as_json = as_json
        self.faults = show.faults_as_sentences()

    def __enter__(self) -> None:
        self.faults.__enter__()

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> bool | None:
        from optimizer.catalog_run import UnknownTable

        if isinstance(error, UnknownTable):
            raise click.UsageError(str(error)) from None
        if isinstance(error, Refused) and self.as_json:
            _show_refused(error)
        return self.faults.__exit__(kind, error, trace)


def _show_refused(refused: Refused) -> None:
    from optimizer.report.catalog_text import problem_json

    show.result_json(
        {
            "status": "refused",
            "warnings": [problem_json(problem) for problem in refused.warnings],
            "errors": [problem_json(problem) for problem in refused.errors],
        }
    )


@click.group()
def catalog() -> None:
    """Look into the catalogs: node types, models, measured goodput, offers, API prices, sites.

    \b
    fleetsheet catalog check                       is every row sound, and how old are the prices
    fleetsheet catalog list offers --gpu H200      rows as a table
    fleetsheet catalog fit GLM-5.3                 on which GPUs the model fits, and why not on others
    fleetsheet catalog import genai-prices -o api_prices.csv
    """


@catalog.command()
@_today
@_stale
@_catalogs
@_json
def check(today: datetime.date | None, stale_days: float | None, catalogs: str | None, as_json: bool) -> None:
    """Check every row of the catalogs: keys, names, sources, dates, prices, power, weights, measurements.

    Exit code 0 where there are only warnings, 3 on errors.
    """
    with _Refusals(as_json):
        from optimizer.catalog_run import run_check_catalogs
        from optimizer.report.catalog_text import check_lines, in_words, problem_json

        found, headers = run_check_catalogs(catalogs, today or datetime.date.today(), stale_days)
        document = {
            "status": "refused" if found.errors else "ok",
            "warnings": [problem_json(problem, headers) for problem in found.warnings],
            "errors": [problem_json(problem, headers) for problem in found.errors],
        }
        if not as_json:
            show.problems("warning", (in_words(problem, headers) for problem in found.warnings))
            show.problems("error", (in_words(problem, headers) for problem in found.errors))
        _answer(as_json, document, check_lines(found.errors, found.warnings))
        show.leave(ExitCode.REFUSED if found.errors else ExitCode.DONE)


@catalog.command("list")
@click.argument("table")
@click.option("--gpu", metavar="NAME", help="Only this GPU, or GPUs with these words: H200, A100 80GB.")
@click.option("--model", metavar="NAME", help="Only this model.")
@click.option("--provider", metavar="NAME", help="Only this provider.")
@click.option("--region", metavar="NAME", help="Only this region.")
@_catalogs
@_json
def list_table(table: str, catalogs: str | None, as_json: bool, **filters: str | None) -> None:
    """Rows of TABLE: node_types, models, goodput, offers, api_prices or sites.

    \b
    fleetsheet catalog list offers --gpu H200
    fleetsheet catalog list goodput --model MiniMax-M2.5 --gpu B300 --json
    """
    with _Refusals(as_json):
        from optimizer.catalog_run import list_rows
        from optimizer.report.catalog_text import list_json, list_lines

        listed = list_rows(table, catalogs, filters)
        _answer(as_json, list_json(listed), list_lines(listed))


@catalog.command()
@click.argument("model")
@click.option("--precision", metavar="NAME", help="Only this precision of the model.")
@click.option("--gpu", metavar="NAME", help="Only node types of this GPU.")
@click.option(
    "--context", "context_tokens", type=Finite(0, min_open=True), metavar="TOKENS",
    help="Input + output tokens of a sequence  [default: the model's context]",
)
@click.option(
    "--sequences", type=Finite(0, min_open=True), default=1, show_default=True, metavar="N",
    help="Sequences that must fit at once.",
)
@click.option(
    "--overhead", "overhead_frac", type=Finite(0, 1, max_open=True), default=0.10, show_default=True, metavar="SHARE",
    help="Share of memory kept free.",
)
@click.option(
    "--weights-gb", type=Finite(0, min_open=True), metavar="GB",
    help="Weights of a model that need not be in the catalogs.",
)
@click.option(
    "--kv-gb-per-seq", type=Finite(0), metavar="GB",
    help="Memory per sequence, with --weights-gb  [default: weights alone]",
)
@click.option("--span-gpus", type=click.IntRange(1), metavar="N", help="As if replicas could span nodes up to N GPUs.")
@_catalogs
@_json
def fit(
    model: str, precision: str | None, gpu: str | None, context_tokens: float | None, sequences: float, overhead_frac: float,
    weights_gb: float | None, kv_gb_per_seq: float | None, span_gpus: int | None, catalogs: str | None, as_json: bool,
) -> None:
    """On which GPUs MODEL fits, with how many sequences, and what every rejection lacks.

    \b
    fleetsheet catalog fit Llama-3.1-70B --context 9216 --sequences 64
    fleetsheet catalog fit "Kimi K3" --weights-gb 1619 --span-gpus 16
    """
    if kv_gb_per_seq is not None and weights_gb is None:
        raise click.UsageError("--kv-gb-per-seq describes a model together with --weights-gb.")
    if weights_gb is not None and context_tokens is not None:
        raise click.UsageError("--context needs a model of the catalogs; with --weights-gb say --kv-gb-per-seq.")
    with _Refusals(as_json):
        from optimizer.catalog_run import fit_models
        from optimizer.report.catalog_text import fit_json, fit_lines

        report = fit_models(
            model, catalogs, precision=precision, gpu=gpu, context_tokens=context_tokens, sequences=sequences,
            overhead_frac=overhead_frac, weights_gb=weights_gb, kv_gb_per_seq=kv_gb_per_seq, span_gpus=span_gpus,
        )
        _answer(as_json, fit_json(report), fit_lines(report))


@catalog.command()
@_today
@_stale
@_catalogs
@_json
def prices(today: datetime.date | None, stale_days: float | None, catalogs: str | None, as_json: bool) -> None:
    """Age of every price, oldest first."""
    with _Refusals(as_json):
        from optimizer.catalog_run import price_ages, stale_days_of
        from optimizer.report.catalog_text import price_json, price_lines

        day = today or datetime.date.today()
        limit = stale_days_of(stale_days)
        ages = price_ages(catalogs, day)
        _answer(as_json, price_json(ages, limit, day), price_lines(ages, limit))


@catalog.command()
@_catalogs
@_json
def columns(catalogs: str | None, as_json: bool) -> None:
    """Reference of every input sheet and column with unit and default, as Markdown.

    It is the same for all catalogs: --catalogs is accepted and makes no difference.
    """
    with _Refusals(as_json):
        from optimizer.report.catalog_text import columns_json
        from optimizer.workbook.reference import reference_page

        del catalogs
        _answer(as_json, columns_json(), [reference_page().rstrip()])


@catalog.group("import")
def import_group() -> None:
    """Turn the field's price sources into rows of our tables, checked, with source, version and date.

    Rows go to stdout as CSV, or to a file with -o; what was left out, and why, to stderr.
    """


def _import_options(command: _Command) -> _Command:
    for option in reversed(
        [
            click.option("-o", "--output", type=click.Path(), metavar="FILE", help="CSV file to write  [default: stdout]"),
            click.option("--force", is_flag=True, help="Overwrite an existing file."),
            _today,
            _catalogs,
            _json,
        ]
    ):
        command = option(command)
    return command


def _price_list_options(command: _Command) -> _Command:
    for option in reversed(
        [
            click.argument("path", type=click.Path()),
            click.option("--provider", metavar="NAME", help="Who sells, where the file does not say."),
            click.option(
                "--as-of", type=_DATE, callback=_day, required=True, metavar="DATE",
                help="Date of the list (of its commit or release): the file itself has none.",
            ),
            click.option("--version", default="", metavar="TEXT", help="Commit or release of the list, for the source."),
            click.option("--region", "regions", multiple=True, metavar="NAME", help="Only this region; may be repeated."),
            click.option("--gpu", "gpus", multiple=True, metavar="NAME", help="Only this GPU of the catalogs; may be repeated."),
            click.option(
                "--map", "said", multiple=True, metavar="NAME=GPU", help="What a GPU name of the list means: 'H100=H100 SXM'."
            ),
            click.option("--cheapest", is_flag=True, help="Of the instances of a node type and region only the cheapest."),
        ]
    ):
        command = option(command)
    return command


@import_group.command("genai-prices")
@click.option("--provider", "providers", multiple=True, metavar="NAME", help="Only this provider; may be repeated.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="Only this model; may be repeated.")
@click.option(
    "--tiers", type=click.Choice(["refuse", "base"]), default="refuse", show_default=True,
    help="Prices that rise with the prompt's length: leave out, or keep the base tier with a note.",
)
@click.option(
    "--as-of", type=_DATE, callback=_day, metavar="DATE", help="Date of the rows  [default: newest price change in the package]"
)
@_import_options
def import_genai(
    providers: tuple[str, ...], models: tuple[str, ...], tiers: str, as_of: datetime.date | None, output: str | None, force: bool,
    today: datetime.date | None, catalogs: str | None, as_json: bool,
) -> None:
    """API prices from the installed genai-prices package, for the models of the catalogs; nothing is fetched."""
    with _Refusals(as_json):
        from optimizer.catalog_run import import_api_prices
        from optimizer.workbook.importers.genai import GenaiRequest

        request = GenaiRequest(
            today=today or datetime.date.today(), as_of=as_of, providers=providers, models=models, keep_base_tier=tiers == "base"
        )
        _show_import(import_api_prices(request, catalogs, output, force=force), as_json)


def _import_price_list(kind: str, chosen: dict[str, Any]) -> None:
    with _Refusals(chosen["as_json"]):
        from optimizer.catalog_run import import_offers
        from optimizer.workbook.importers.price_lists import PriceListRequest

        request = PriceListRequest(
            as_of=chosen["as_of"], provider=chosen["provider"], version=chosen["version"], regions=chosen["regions"],
            gpus=chosen["gpus"], cheapest=chosen["cheapest"],
        )
        result = import_offers(
            kind, chosen["path"], request, chosen["said"], chosen["catalogs"], chosen["output"],
            today=chosen["today"] or datetime.date.today(), force=chosen["force"],
        )
        _show_import(result, chosen["as_json"])


@import_group.command("skypilot")
@_price_list_options
@_import_options
def import_skypilot(**chosen: Any) -> None:
    """GPU offers from a SkyPilot catalog file PATH (vms.csv of one cloud).

    \b
    fleetsheet catalog import skypilot vms.csv --provider AWS --as-of 2026-11-20 -o offers.csv
    """
    _import_price_list("skypilot", chosen)


@import_group.command("gpuhunt")
@_price_list_options
@_import_options
def import_gpuhunt(**chosen: Any) -> None:
    """GPU offers from a gpuhunt catalog file PATH (one provider per file)."""
    _import_price_list("gpuhunt", chosen)


def _show_import(result: Any, as_json: bool) -> None:
    """Rows on stdout unless they went to a file; the rest on stderr."""
    from optimizer.report.catalog_text import few_of_each, import_json, left_out_lines, problem_json

    if as_json:
        document = {
            "status": "refused" if result.errors else "ok",
            **import_json(result.imported, result.output),
            "warnings": [problem_json(problem) for problem in result.warnings],
            "errors": [problem_json(problem) for problem in result.errors],
        }
        _answer(True, document, ())
    else:
        for line in left_out_lines(result.imported):
            show.words(line)
        for kind, found in (("warning", result.warnings), ("error", result.errors)):
            problems: Sequence[Problem] = few_of_each(found)
            show.problems(kind, problems)
        if result.output is not None:
            show.words(f"wrote {result.output}")
        elif not result.errors:
            click.echo(result.imported.csv_text(), nl=False)
    show.leave(ExitCode.REFUSED if result.errors else ExitCode.DONE)
