"""What goes where: results to stdout, words to stderr, exit codes, and our own faults as one sentence instead of a traceback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

import click

from optimizer.errors import CannotWrite, ExitCode, FleetsheetError, Problem, Refused

#: What a shell shows for a program that Ctrl-C ended.
STOPPED = 130


def never_fail_on_letters() -> None:
    """A terminal or pipe whose encoding lacks a letter shows `?` for it."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def words(text: str) -> None:
    """A message for a person, on stderr."""
    click.echo(text, err=True)


def problems(kind: str, rows: Iterable[Problem]) -> None:
    """Errors or warnings, one line each, on stderr."""
    colour = "red" if kind == "error" else "yellow"
    for row in rows:
        click.echo(f"{click.style(kind, fg=colour)}: {row.sentence()}", err=True)


def assumptions(sentences: Iterable[str]) -> None:
    """What nobody stated and a plan rests on, one line each, on stderr."""
    for sentence in sentences:
        click.echo(f"{click.style('assumed', fg='cyan')}: {sentence}", err=True)


def result_lines(lines: Iterable[str]) -> None:
    """The result on stdout. Raises CannotWrite where stdout takes no more, such as a file on a full disk."""
    try:
        for line in lines:
            click.echo(line)
    except BrokenPipeError:
        raise
    except OSError as problem:
        raise CannotWrite(f"the result cannot be written to stdout ({problem.strerror or problem})") from problem


def result_json(document: dict[str, Any]) -> None:
    """One object and nothing else on stdout, in letters that its encoding holds."""
    unicode = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "").startswith("utf")
    result_lines([json.dumps(document, indent=2, ensure_ascii=not unicode, allow_nan=False)])


def leave(code: ExitCode) -> NoReturn:
    """End the process with one of our exit codes."""
    try:
        sys.stdout.flush()
    except OSError:
        # What stdout did not take is lost already; without this Python tries again at exit, and changes the exit code.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(int(code))


@contextlib.contextmanager
def faults_as_sentences() -> Iterator[None]:
    """Turn failures into a sentence on stderr and an exit code; what we did not foresee is our bug, and says so."""
    try:
        yield
    except Refused as refused:
        problems("warning", refused.warnings)
        problems("error", refused.errors)
        leave(ExitCode.REFUSED)
    except FleetsheetError as failure:
        words(f"{click.style('error', fg='red')}: {failure}")
        leave(failure.exit_code)
    except (click.ClickException, click.Abort, SystemExit):
        raise
    except KeyboardInterrupt:
        words("stopped")
        raise SystemExit(STOPPED) from None
    except BrokenPipeError:
        leave(ExitCode.DONE)
    except Exception as fault:
        place = fault.__traceback__
        while place is not None and place.tb_next is not None:
            place = place.tb_next
        where = f"{place.tb_frame.f_code.co_name}, line {place.tb_lineno}" if place is not None else "unknown place"
        label = click.style("error", fg="red")
        words(f"{label}: a fault of fleetsheet, not of your input: {type(fault).__name__}: {fault} ({where})")
        words("Please report it with the command and, if you may, the file; FLEETSHEET_TRACEBACK=1 shows more.")
        if os.environ.get("FLEETSHEET_TRACEBACK"):
            traceback.print_exc()
        leave(ExitCode.OUR_BUG)


@contextlib.contextmanager
def progress(text: str) -> Iterator[Callable[[float | None, float | None, float], None] | None]:
    """A spinner on stderr while something long runs, with best plan, bound and gap as they are told; None where stderr is no
    terminal. While it runs, Ctrl-C ends the search with the best plan so far."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:

        def watch(best: float | None, bound: float | None, seconds: float) -> None:
            if best is None or bound is None or best <= 0:
                status.update(f"{text}: no plan yet, {seconds:,.0f} s")
                return
            gap = max(best - bound, 0.0) / best
            found = f"{best:,.2f} a day, none below {bound:,.2f}, gap {gap:.2%}"
            status.update(f"{text}: {found}, {seconds:,.0f} s (Ctrl-C keeps it)")

        yield watch
