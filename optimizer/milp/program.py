"""The program under construction: one PuLP problem, variables and rows kept by tuple, and the cost ledger that closes it.

Works alike on PuLP 3.3.2 and 4.x: only calls that exist in both are used, and rows are kept by our own keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pulp

Key = tuple[Any, ...]
Term = tuple[float, Any]


class Program:
    """One minimisation problem. Variables never leave it; values are read with `value` while it lives.

    Keys are tuples `(family, ids..., slice)`; a key used twice is a programming error and raises ValueError.
    """

    def __init__(self, name: str) -> None:
        self.problem = pulp.LpProblem(name, pulp.LpMinimize)
        self.variables: dict[Key, Any] = {}
        self._rows: dict[Key, int | None] = {}
        self._taken: dict[Key, float] | None = None
        self._added = 0
        self._cost: list[Term] = []
        self._constant_usd_per_day = 0.0

    def add_variable(self, key: Key, *, low: float = 0.0, up: float | None = None, integer: bool = False) -> Any:
        """A new variable, low <= x <= up, whole where `integer`."""
        if key in self.variables:
            raise ValueError(f"variable {key} exists already")
        name = f"{key[0]}_{len(self.variables)}"
        variable = self.problem.add_variable(name, low, up, cat="Integer" if integer else "Continuous")
        self.variables[key] = variable
        return variable

    def add_row(self, key: Key, terms: Iterable[Term], sense: str, right: float) -> None:
        """Add sum of coefficient x variable (sense) right; sense is ">=", "<=" or "==". Repeated variables add up.

        A row without any variable is checked at once: where it cannot hold, an impossible row is added so that the program is
        infeasible, as it should be.
        """
        if key in self._rows:
            raise ValueError(f"row {key} exists already")
        self._rows[key] = None
        terms = [(coefficient, variable) for coefficient, variable in terms if coefficient != 0]
        if not terms:
            holds = {">=": right <= 0, "<=": right >= 0, "==": right == 0}[sense]
            if holds:
                return
            terms, sense, right = [(1.0, self._impossible())], ">=", 1.0
        left = pulp.lpSum([coefficient * variable for coefficient, variable in terms])
        self._rows[key] = self._added
        self._added += 1
        name = f"{key[0]}_{len(self._rows)}"
        if sense == ">=":
            self.problem.addConstraint(left >= right, name)
        elif sense == "<=":
            self.problem.addConstraint(left <= right, name)
        else:
            self.problem.addConstraint(left == right, name)

    def _impossible(self) -> Any:
        key = ("impossible",)
        known = self.variables.get(key)
        return self.add_variable(key, low=0.0, up=0.0) if known is None else known

    def add_cost(self, usd_per_day: float, variable: Any) -> None:
        """Post one cost term: $/day per unit of the variable."""
        if usd_per_day != 0:
            self._cost.append((usd_per_day, variable))

    def add_constant_cost(self, usd_per_day: float) -> None:
        """Post a cost that no decision changes (existing contracts), in $/day."""
        self._constant_usd_per_day += usd_per_day

    @property
    def constant_usd_per_day(self) -> float:
        """Cost that no decision changes, $/day; not part of the objective handed to the solver."""
        return self._constant_usd_per_day

    @property
    def cost_terms(self) -> tuple[Term, ...]:
        """All posted cost terms."""
        return tuple(self._cost)

    def close_with_cost(self) -> None:
        """Minimise the cost ledger."""
        self.close_with(self._cost)

    def close_with(self, terms: Iterable[Term]) -> None:
        """Minimise something else (tie-breaks)."""
        # PuLP gives an empty objective a variable of its own, which would shift the solver's columns: one of ours comes first.
        terms = list(terms) or [(1.0, self._impossible())]
        self.problem.setObjective(pulp.lpSum([coefficient * variable for coefficient, variable in terms]))

    @property
    def row_count(self) -> int:
        """Rows that were added, those that hold by themselves left out."""
        return self._added

    def has_row(self, key: Key) -> bool:
        """True where a row with that key was added."""
        return key in self._rows

    def row_number(self, key: Key) -> int | None:
        """Position of a row in the solver's model; None where the row holds by itself and was left out."""
        return self._rows[key]

    def column_numbers(self) -> dict[Key, int]:
        """Position of the variables in the solver's model; one that is in no row and costs nothing has none."""
        # PuLP 4 keeps unused variables and exports the others; PuLP 3 knows only those in use.
        handed_over = getattr(self.problem, "exported_variables", self.problem.variables)()
        position = {variable.name: i for i, variable in enumerate(handed_over)}
        return {key: position[variable.name] for key, variable in self.variables.items() if variable.name in position}

    def take_values(self, values: dict[Key, float]) -> None:
        """Values of a run of the solver's model that did not go through PuLP; `value` answers from them from now on."""
        self._taken = values

    def value(self, key: Key) -> float:
        """Value of a variable after a solve that has a solution; 0 for a variable that does not exist."""
        if self._taken is not None:
            return self._taken.get(key, 0.0)
        variable = self.variables.get(key)
        if variable is None or variable.varValue is None:
            return 0.0
        return float(variable.varValue)

    def whole(self, key: Key) -> int:
        """Rounded value of a whole variable."""
        return round(self.value(key))
