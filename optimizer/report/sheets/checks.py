"""Checks: the workbook checks itself, live; their conjunction is the master check in the head of every sheet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from optimizer.report.constants import TOLERANCE
from optimizer.report.figures import Figures
from optimizer.report.grid import Col, Grid, range_ref
from optimizer.report.sheets.bad_day import survives
from optimizer.report.sheets.hourly_layout import HOURLY, market_key
from optimizer.report.sheets.limits import limits
from optimizer.report.writer import PlanSheet

if TYPE_CHECKING:
    from optimizer.report.places import Places

CHECKS = "Checks"
CHECKS_TOP = 6
MASTER_CELL = (4, 1)


@dataclass(frozen=True)
class Check:
    """`left` must equal `right` (kind "="), or be at least (">") or at most ("<") it, within the tolerance of `right`."""

    words: str
    where: str
    unit: str
    left_text: str
    left: float
    right_text: str
    right: float
    kind: str = "="
    claimed: bool = False

    @property
    def ok(self) -> bool:
        """Whether it holds in the figures."""
        room = TOLERANCE * max(1.0, abs(self.right))
        if self.kind == "=":
            return abs(self.left - self.right) <= room
        return self.left >= self.right - room if self.kind == ">" else self.left <= self.right + room


def checks_grid(count: int) -> Grid:
    """A row for each check."""
    cols = (
        Col("words", "Check", width=64),
        Col("ok", "Holds", "TRUE/FALSE", "bool", 12),
        Col("where", "Where", width=16),
        Col("left", "Found", "in unit", "n2", 15),
        Col("kind", "Must be", width=10),
        Col("right", "Wanted", "in unit", "n2", 15),
        Col("diff", "Difference", "in unit", "n2", 13),
        Col("unit", "Unit", width=14),
    )
    return Grid(CHECKS, CHECKS_TOP, cols, count)


def checks(places: Places, figures: Figures) -> list[Check]:
    """Every check, with the formulas of both sides."""
    plan, weights = figures.plan, figures.weights
    cost, hourly, pool_hours, workload_hours = places.cost, places.hourly, places.pool_hours, places.workload_hours
    total = plan.cost.total
    slots = range(len(figures.slices))
    gap = workload_hours.span("gap")
    gaps = [
        sum(figures.own_tps.get((workload.workload, slot), (0.0, 0.0)))
        + figures.api_tps.get((workload.workload, slot), 0.0)
        - figures.run(workload, slot)
        for workload in figures.case.workloads
        for slot in slots
    ]
    by_hour = f"SUM({hourly.span('cost_day')})"
    busiest = max(
        (
            row.busy / (row.count.live * figures.occupancy(row.count.pool, row.place))
            for row in figures.replica_rows
            if row.count.live
        ),
        default=0.0,
    )
    replicas = places.replicas
    demand = workload_hours.span("demand")
    most = max(figures.demand(workload, slot) for workload in figures.case.workloads for slot in slots)
    found = [
        Check(
            "Every hour, every workload: served = demand (largest difference, of the highest demand)",
            "Workload hours",
            "share",
            f"MAX(MAX({gap}),0-MIN({gap}))/MAX(1,MAX({demand}))",
            max(max(gaps), -min(gaps)) / max(1.0, most),
            "0",
            0.0,
        ),
        Check(
            "Replicas: work never above planned occupancy x live (highest ratio)",
            "Replicas",
            "ratio",
            f"SUMPRODUCT(MAX({replicas.span('busy')}/(({replicas.span('live')}+({replicas.span('live')}=0))"
            f"*({replicas.span('occupancy')}+({replicas.span('occupancy')}=0)))))",
            busiest,
            "1",
            1.0,
            "<",
        ),
    ]
    if places.occupancy.rows:
        crowded = sum(1 for row in places.occupancy.rows if not row.keeps)
        text = f"SUMPRODUCT(1-{places.occupancy.grid.span('keeps')})"
        found.append(Check("Occupancies at which more requests wait than may", "Occupancy", "rows", text, crowded, "0", 0.0))
    for node_type, spot in figures.markets:
        span = hourly.span(f"free:{market_key(node_type, spot)}")
        least = min(
            sum(
                line.used[slot] * line.node_type.gpus_per_node
                for line in figures.lines
                if line.node_type.node_type == node_type and line.is_spot == spot
            )
            - figures.market_gpus.get((node_type, spot, slot), 0.0)
            for slot in slots
        )
        where = f"{node_type} {'spot' if spot else 'firm'}"
        found.append(
            Check(
                f"Nodes used hold the replicas on them, every hour: {where}",
                "Hourly",
                "GPUs",
                f"MIN({span})",
                least,
                "0",
                0.0,
                ">",
            )
        )
    for line in figures.lines:
        if line.offer.is_held:
            name = line.offer.offer
            spans = hourly.span(f"held:{name}"), hourly.span(f"used:{name}")
            least = min(held - used for held, used in zip(line.held, line.used, strict=True))
            found.append(
                Check(
                    f"Nodes used never above nodes held: {name}",
                    "Hourly",
                    "nodes",
                    f"SUMPRODUCT(MIN({spans[0]}-{spans[1]}))",
                    least,
                    "0",
                    0.0,
                    ">",
                )
            )
    constraint = places.constraints
    broken = sum(1 for limit in limits(places, figures) if limit.slack < -TOLERANCE * max(1.0, abs(limit.limit)))
    if constraint.count:
        found.append(
            Check(
                "Limits broken on Constraints",
                "Constraints",
                "limits",
                f"SUMPRODUCT(1-{constraint.span('holds')})",
                broken,
                "0",
                0.0,
            )
        )
    if figures.plan.margins:
        failed = sum(1 for margin in figures.plan.margins if not survives(places, figures, margin))
        found.append(
            Check(
                "Bad days not survived",
                "Bad day",
                "bad days",
                f"SUMPRODUCT(1-{places.bad_day.span('survives')})",
                failed,
                "0",
                0.0,
            )
        )
    found += _money(places, figures, by_hour, total)
    tokens = f"SUM({cost.mtok.span('mtok', 1, 3)})"
    found += [
        Check(
            "Tokens served by fleet and APIs = tokens forecast",
            "Cost",
            "M tok/day",
            tokens,
            plan.output_mtok_per_day,
            cost.mtok.ref("mtok", 0),
            plan.output_mtok_per_day,
        ),
        Check(
            "Hours weighed = hours of a day", "Hourly", "h", f"SUM({hourly.span('weight')})", sum(weights), "hours_per_day", 24.0
        ),
        Check(
            "Demand by pool = demand by hour",
            "Pool hours",
            "M tok/day",
            f"SUM({pool_hours.span('mtok')})",
            plan.output_mtok_per_day,
            f"SUM({workload_hours.span('mtok')})",
            plan.output_mtok_per_day,
        ),
    ]
    found += _whole(places, figures)
    found.append(
        Check(
            "Cells of Hourly and Cost that show an error",
            "Cost",
            "cells",
            f"SUMPRODUCT(ISERROR({hourly.span('cost')})*1)+SUMPRODUCT(ISERROR({cost.offers.span('total')})*1)",
            0.0,
            "0",
            0.0,
        )
    )
    return found


def _money(places: Places, figures: Figures, by_hour: str, total: float) -> list[Check]:
    cost = places.cost
    by_offer, by_part = places.cost_total, f"SUM({cost.parts.span('usd')})"
    return [
        Check("Cost by hour = cost by offer", "Hourly", "$/day", by_hour, total, by_offer, total),
        Check("Cost by part = cost by offer", "Cost", "$/day", by_part, total, by_offer, total),
        Check("Cost by purchase type = cost by offer", "Cost", "$/day", f"SUM({cost.types.span('usd')})", total, by_offer, total),
        Check("Cost by GPU = cost by offer", "Cost", "$/day", f"SUM({cost.gpus.span('usd')})", total, by_offer, total),
        Check("Cost by pool = cost by offer", "Cost", "$/day", f"SUM({cost.pools.span('total')})", total, by_offer, total),
        Check(
            "Cost = cost that was proven (FALSE once a price is changed: solve again)",
            "Summary",
            "$/day",
            by_offer,
            total,
            places.claimed("cost"),
            total,
            claimed=True,
        ),
        Check(
            "Cost never below the proven bound",
            "Summary",
            "$/day",
            by_offer,
            total,
            places.claimed("bound"),
            figures.plan.bound_usd_per_day,
            ">",
        ),
    ]


def _whole(places: Places, figures: Figures) -> list[Check]:
    """Decisions are whole and not negative."""
    hourly = places.hourly
    spans = []
    if figures.lines:
        first, last = (hourly.col(f"used:{line.offer.offer}") for line in (figures.lines[0], figures.lines[-1]))
        spans.append(range_ref(HOURLY, hourly.first, first, hourly.last, last))
    spans += [places.replicas.span(key) for key in ("live", "total", "spot_live", "spot_total")]
    if figures.lines:
        spans.append(places.purchases.span("new"))
    parts = [f"SUMPRODUCT(ABS({span}-ROUND({span},0)))" for span in spans]
    lows = [f"MIN({span},0)" for span in spans]
    lows += [f"MIN({places.routing.span(key)},0)" for key in ("firm", "spot")] + [f"MIN({places.api_hours.span('tps')},0)"]
    return [
        Check("Nodes and replicas are whole numbers (sum of fractions)", "Replicas", "count", "+".join(parts), 0.0, "0", 0.0),
        Check("No decision is negative (sum of negatives)", "Replicas", "count", "+".join(lows), 0.0, "0", 0.0),
    ]


def fill_checks(sheet: PlanSheet, places: Places, figures: Figures) -> None:
    """The checks and the master check."""
    grid, rows = places.checks, places.check_rows
    formats = sheet.book.formats
    sheet.title(
        "Checks",
        "Each line is live. Tolerance: see Inputs. A change of demand or limits can make a line FALSE: then solve again.",
    )
    sheet.header(grid)
    words = {"=": "equal to", ">": "at least", "<": "at most"}
    for place, check in enumerate(rows):
        row = grid.first + place
        here = {col.key: grid.here(col.key, place) for col in grid.cols}
        sheet.text(row, grid.col("words"), check.words)
        sheet.jump(row, grid.col("where"), check.where, check.where)
        sheet.formula(row, grid.col("left"), f"={check.left_text}", check.left, "n2")
        sheet.text(row, grid.col("kind"), words[check.kind])
        if check.right_text in {"0", "1"}:
            sheet.number(row, grid.col("right"), check.right, "n2")
        else:
            sheet.formula(row, grid.col("right"), f"={check.right_text}", check.right, "n2")
        sheet.formula(row, grid.col("diff"), f"={here['left']}-{here['right']}", check.left - check.right, "n2")
        room = f"tolerance*MAX(1,ABS({here['right']}))"
        test = {
            "=": f"=ABS({here['left']}-{here['right']})<={room}",
            ">": f"={here['left']}>={here['right']}-{room}",
            "<": f"={here['left']}<={here['right']}+{room}",
        }[check.kind]
        sheet.formula(row, grid.col("ok"), test, check.ok, "bool")
        sheet.text(row, grid.col("unit"), check.unit, fmt=formats.note())
    sheet.show_flags(grid.first, grid.col("ok"), grid.last, grid.col("ok"))
    audit = figures.result.audit
    sheet.text(
        grid.last + 2,
        0,
        "Audit by the program, apart from the solver: "
        + ("passed." if audit is None or audit.ok else f"{len(audit.violations)} violations, see Log."),
        fmt=formats.plain(),
    )
    master = all(check.ok for check in rows)
    sheet.text(MASTER_CELL[0], 0, "All checks together", fmt=formats.custom(bold=True))
    sheet.formula(
        *MASTER_CELL,
        f"=AND({grid.span_here('ok')})",
        master,
        "bool",
        fmt=formats.custom(bold=True, align="center", border=1, num_format=formats.number("bool")),
    )
    sheet.show_flags(*MASTER_CELL, *MASTER_CELL)
    sheet.finish(freeze=(grid.first, 1), repeat=(0, grid.top + 1))
