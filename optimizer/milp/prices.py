"""Prices of workloads at which a fleet must be worth its demand; they replace load variables for one and two workloads."""

from __future__ import annotations


def directions(workloads: int, mean_tps: list[tuple[float, ...]]) -> list[tuple[float, ...]]:
    """Prices per workload at which a fleet must be worth its demand: all that is needed for one or two workloads.

    For two, the work a fleet can do is a Minkowski sum of triangles, whose facets are the axes and each option's own exchange
    rate (solver.md section 2).
    """
    if workloads == 1:
        return [(1.0,)]
    found = [(1.0, 0.0), (0.0, 1.0)]
    found += [(1.0 / first, 1.0 / second) for first, second in mean_tps if first > 0 and second > 0]
    return list(dict.fromkeys(found))
