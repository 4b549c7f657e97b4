"""Figures and rules of the field's modelling notes for deadlines, zones and spot pools, each as the product's own answer."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from optimizer.domain.case import Case
from tests.helpers.dagger_compare import agreed_dagger_cost
from tests.helpers.oracle_compare import solved
from tests.helpers.refcase import case_from_tables
from tests.oracle.test_closed_forms import bought, case_of, on_demand, reserved, tables_of
from tests.oracle.test_dagger_closed_forms import SAME

Row = dict[str, Any]
HOURS = 24


# ---------------------------------------------------------------------- work inside its deadline


class Backlog:
    """Nodes held, what an interactive pool takes of them, and two kinds of work that wait differently long; in replica-hours."""

    def __init__(self, seed: int) -> None:
        rng = random.Random(f"windows {seed}")
        self.nodes = rng.randint(4, 7)
        self.need = [rng.randint(0, self.nodes) for _ in range(HOURS)]
        self.idle = [self.nodes - need for need in self.need]
        self.waits = (rng.randint(0, 3), rng.randint(4, 30))
        # About as much as is idle, so that some fit and some do not.
        share = rng.uniform(0.35, 0.9) * sum(self.idle) / HOURS
        self.work = [
            [round(rng.choice((0.0, 0.0, 1.0, 2.0)) * share * part * rng.uniform(0.5, 1.0), 2) for _ in range(HOURS)]
            for part in (0.3, 0.9)
        ]

    def contained(self, first: int, length: int) -> float:
        """Work that arrives and must be done inside the window of so many hours, which may go over midnight."""
        return sum(
            tps
            for arrivals, wait in zip(self.work, self.waits, strict=True)
            for hour, tps in enumerate(arrivals)
            if length >= HOURS or (hour - first) % HOURS + wait < length
        )

    def fits_every_window(self) -> bool:
        """The rule: for every window no more work is contained than is idle in it."""
        return all(
            self.contained(first, length) <= sum(self.idle[(first + step) % HOURS] for step in range(length)) + 1e-9
            for first in range(HOURS)
            for length in range(1, HOURS + 1)
        )

    def flows(self) -> bool:
        """The same as a linear program: every arrival is spread over the hours in which it may run."""
        arcs = [
            (kind, hour, (hour + wait) % HOURS)
            for kind in (0, 1)
            for hour in range(HOURS)
            for wait in range(min(self.waits[kind], HOURS - 1) + 1)
        ]
        done, room = np.zeros((2 * HOURS, len(arcs))), np.zeros((HOURS, len(arcs)))
        for place, (kind, arrival, run) in enumerate(arcs):
            done[kind * HOURS + arrival, place] = 1.0
            room[run, place] = 1.0
        found = linprog(np.zeros(len(arcs)), A_ub=room, b_ub=self.idle, A_eq=done, b_eq=[*self.work[0], *self.work[1]])
        return bool(found.status == 0)

    def case(self) -> Case:
        """The same for the product: so many nodes at most, and nothing else."""
        tables = tables_of([float(need) for need in self.need], [reserved(2, max_nodes=self.nodes)])
        for kind, arrivals in enumerate(self.work):
            name = f"batch{kind}"
            tables["Workloads"].append(
                {"workload": name, "pool": "batch", "model": "m", "precision": "x", "deferrable_hours": self.waits[kind]}
            )
            tables["Demand"] += [
                {"workload": name, "day_type": "", "hour": hour, "output_tps": tps} for hour, tps in enumerate(arrivals)
            ]
        tables["Pools"].append({"pool": "batch", "kind": "batch"})
        return case_from_tables(tables)


SEEDS = range(150)


@pytest.mark.parametrize("seed", SEEDS)
def test_work_can_be_done_where_it_fits_into_every_window(seed: int) -> None:
    backlog = Backlog(seed)
    fits = backlog.fits_every_window()
    assert backlog.flows() is fits
    assert (solved(backlog.case()).status == "optimal") is fits


def test_some_of_the_backlogs_fit_and_some_do_not() -> None:
    fitting = sum(Backlog(seed).fits_every_window() for seed in SEEDS)
    assert 30 <= fitting <= len(SEEDS) - 30


# ---------------------------------------------------------------------- zones and spot pools


def in_zones(count: int, offer: Row) -> list[Row]:
    """The same offer in so many regions of one provider."""
    return [{**offer, "offer": f"{offer['offer']} {zone}", "provider": "p", "region": f"r{zone}"} for zone in range(count)]


@pytest.mark.parametrize(("zones", "nodes"), [(2, 16), (3, 12), (4, 11)])
def test_eight_replicas_survive_the_loss_of_any_zone(zones: int, nodes: int) -> None:
    lost = {"contingency": "zone", "scope": "zone"}
    case = case_of([8.0] * HOURS, in_zones(zones, reserved(20)), contingencies=[lost])
    assert agreed_dagger_cost(case) == pytest.approx(HOURS * 20.0 * nodes, rel=SAME)
    decision = solved(case).decision
    counts = [bought(decision, f"res {zone}") for zone in range(zones)]
    assert sum(counts) == nodes and sum(counts) - max(counts) >= 8


@pytest.mark.parametrize(("pools", "usd"), [(1, 30.0), (2, 20.0), (3, 15.0), (4, 14.0)])
def test_spot_is_spread_over_pools_that_may_be_reclaimed_whole(pools: int, usd: float) -> None:
    """Ten replicas, on demand at $3 or on spot at $1, one spot pool of which may be gone: $30, 20, 15 and 14 an hour.

    With one pool all spot goes. With several each is a zone, and on demand, outside of them, is dearer than another one's share.
    """
    spot = {"offer": "spot", "node_type": "n", "purchase": "spot", "used_usd_per_node_h": 1.0}
    lost = {"contingency": "reclaimed", **({"spot_lost_frac": 1} if pools == 1 else {"scope": "zone"})}
    case = case_of([10.0] * HOURS, [*in_zones(pools, spot), on_demand(3)], pool={"spot_max_frac": 1}, contingencies=[lost])
    assert agreed_dagger_cost(case) == pytest.approx(HOURS * usd, rel=SAME)
