"""What `check` prints of the demand: a one-line chart, unit, peak, mean and peak-to-mean of each workload; text and JSON."""

from __future__ import annotations

from collections.abc import Iterable

from optimizer.workbook.demand_model import DemandReport, ProfileStats

BLOCKS = "▁▂▃▄▅▆▇█"
ASCII_BLOCKS = "_.:-=+*#"


def chart(values: Iterable[float], top: float | None = None, *, ascii_only: bool = False) -> str:
    """One character for each value, its height in eighths of `top` (default: the largest value); a blank where it is 0.

    >>> chart([0, 1, 4, 8]), chart([0, 1, 4, 8], ascii_only=True)
    (' ▁▄█', ' _-#')
    """
    heights = list(values)
    top = top if top is not None else max(heights, default=0.0)
    blocks = ASCII_BLOCKS if ascii_only else BLOCKS
    if top <= 0:
        return " " * len(heights)
    steps = [min(len(blocks), max(1, -int(-value / top * len(blocks) // 1))) if value > 0 else 0 for value in heights]
    return "".join(blocks[step - 1] if step else " " for step in steps)


def demand_lines(reports: Iterable[DemandReport], *, ascii_only: bool = False) -> list[str]:
    """Lines for the terminal: per workload a heading with unit and figures, then one chart line for each day type."""
    lines: list[str] = []
    for report in reports:
        ratio = f"{report.peak_to_mean:.2f}" if report.peak_to_mean is not None else "none"
        day_type, hour = report.peak_hour
        on_day = f" on {day_type}" if len(report.demand_tps) > 1 else ""
        lines.append(
            f"{report.workload}: peak {_tps(report.peak_tps)} at {hour:02d}:00{on_day}, mean "
            f"{_tps(report.mean_tps)}, peak-to-mean {ratio}"
            f" (read from {report.place} in {report.unit})"
        )
        width = max(len(name) for name in report.demand_tps)
        lines += [
            f"  {name:<{width}} 00 |{chart(values, report.peak_tps, ascii_only=ascii_only)}| 23  peak {_tps(max(values))}"
            for name, values in report.demand_tps.items()
        ]
        if report.input_tps:
            top = max(max(values) for values in report.input_tps.values())
            lines.append(f"  input tokens: peak {_tps(top)}")
        if report.cached_frac is not None:
            lines.append(f"  cached share of input: {report.cached_frac:.1%}")
        if report.profile is not None:
            lines += [f"  {line}" for line in _profile_lines(report.profile)]
    return lines


def _tps(value: float) -> str:
    digits = 0 if abs(value) >= 100 or value == round(value) else 4
    return f"{value:,.{digits}f} tok/s" if digits == 0 else f"{value:,.{digits}g} tok/s"


def _profile_lines(stats: ProfileStats) -> list[str]:
    parts = [
        f"{name} {value:.2f}"
        for name, value in (
            ("by day", stats.by_day),
            ("by week", stats.by_week),
            ("by hour over all days", stats.by_hour),
            (f"by {stats.step_minutes:g}-minute bin", stats.by_bin if stats.burst_factor is not None else None),
        )
        if value is not None
    ]
    lines = [f"series of {stats.days} days, peak-to-mean " + ", ".join(parts)] if parts else []
    if stats.burst_factor is not None:
        lines.append(
            f"inside busy hours the highest {stats.step_minutes:g}-minute bin is "
            f"{stats.burst_factor:.2f} x its hour's mean (burst_factor of Workloads)"
        )
    return lines


def report_json(report: DemandReport) -> dict[str, object]:
    """The record of one workload in `check --json`."""
    record: dict[str, object] = {
        "workload": report.workload,
        "unit": report.unit,
        "demand_tps": {name: list(values) for name, values in report.demand_tps.items()},
        "peak_tps": report.peak_tps,
        "mean_tps": report.mean_tps,
        "peak_to_mean": report.peak_to_mean,
    }
    if report.input_tps:
        record["input_tps"] = {name: list(values) for name, values in report.input_tps.items()}
    if report.cached_frac is not None:
        record["cached_frac"] = report.cached_frac
    if report.profile is not None:
        record["profile"] = dict(report.profile.__dict__)
    return record
