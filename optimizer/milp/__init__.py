"""Rows and variables; the only room with PuLP and HiGHS. One way in: `optimizer.milp.solve.solve_case`."""
