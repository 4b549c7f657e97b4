"""A pool with menus in the program: one line is chosen per slice.

Variables: line[p,i,t] whole in 0..1. Rows: exactly one line; overflow over all APIs >= the line's least overflow.
"""

from __future__ import annotations

from optimizer.milp.frame import Frame
from optimizer.milp.menu import Menu
from optimizer.milp.prep import PoolData
from optimizer.milp.program import Term


def add_menu_pool(frame: Frame, pool: PoolData, menus: tuple[Menu, ...]) -> None:
    """Choose one line per slice and post its units of each node type. A slice without any line makes the program infeasible."""
    program, name = frame.program, pool.pool.pool
    for t, menu in enumerate(menus):
        if pool.slices[t].total_serve_tps <= 0:
            continue
        chosen: list[Term] = []
        sent: list[Term] = []
        for i, line in enumerate(menu.lines):
            variable = program.add_variable(("line", name, i, t), up=1, integer=True)
            chosen.append((1.0, variable))
            if line.overflow_tps > 0:
                sent.append((-line.overflow_tps, variable))
            needs = frame.any_ if pool.spot_mode == "any" else frame.firm
            for node_type, units in zip(menu.node_types, line.units, strict=True):
                if units:
                    needs.setdefault((node_type, t), []).append((float(units), variable))
        program.add_row(("one_line", name, t), chosen, "==", 1.0)
        if sent:
            scale = 1.0 / pool.slices[t].total_serve_tps
            workload = pool.workloads[0].workload
            flows = [(1.0, program.variables[("overflow", workload, api.api, t)]) for api in pool.slices[t].apis[0]]
            program.add_row(("line_overflow", name, t), [(c * scale, v) for c, v in (*flows, *sent)], ">=", 0.0)
