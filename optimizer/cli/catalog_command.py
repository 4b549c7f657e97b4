"""`fleetsheet catalog`: what the shipped catalogs hold."""

from __future__ import annotations

import click


@click.group()
def catalog() -> None:
    """Look into the catalogs: node types, models, measured goodput, offers, API prices, sites."""
