"""The command line: parse what was typed, call one verb, show what came back. The only room with click; no arithmetic here."""

from __future__ import annotations

from optimizer.cli.main import main

__all__ = ["main"]
