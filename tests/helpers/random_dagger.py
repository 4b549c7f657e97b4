"""Random cases in which hours hang together or nodes are lost, on top of the small random cases; a seed gives one case.

Where work waits or replicas must be ready ahead, no two hours can be merged; such cases have one day type, few busy hours and
little to choose from, so that the independent oracle is quick.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

from optimizer.domain.case import Case
from optimizer.domain.market import Discount, Offer
from optimizer.domain.workload import Contingency, Pool, Workload
from tests.helpers.random_cases import random_case

#: Chance that a case has the feature, where the caller does not say which features it wants.
DAGGERS: dict[str, float] = {
    "deferrable": 0.35,
    "ready": 0.20,
    "quota": 0.35,
    "lost_frac": 0.35,
    "zone": 0.30,
    "shortage": 0.35,
    "discounts": 0.40,
}

#: What makes a case slow for a plain program without being needed here in every case.
_SLOW = ("three_workloads", "three_options")
_SLOW_WITH_SHIFTS = (*_SLOW, "day_types", "two_node_types", "two_apis", "second_contingency")
_MODEST = ("two_workloads", "two_pools", "spanning", "spot", "rollout")


class _Dagger:
    def __init__(self, seed: int, features: Iterable[str] | None, replicas_at_peak: float) -> None:
        self.rng = random.Random(f"dagger {seed}")
        unknown = set(features or ()) - DAGGERS.keys()
        if unknown:
            raise ValueError(f"no such features: {sorted(unknown)}")
        drawn = {name for name, chance in DAGGERS.items() if self.rng.random() < chance}
        self.on = drawn if features is None else set(features)
        if not self.on:
            self.on = {self.rng.choice(sorted(DAGGERS))}
        shifts = bool(self.on & {"deferrable", "ready"})
        without = set(_SLOW_WITH_SHIFTS if shifts else _SLOW)
        if shifts:
            without |= set(self.rng.sample(_MODEST, 2))
        self.case = random_case(seed, without=sorted(without), replicas_at_peak=replicas_at_peak)
        if shifts:
            self._few_busy_hours()

    def made(self) -> Case:
        rng = self.rng
        workloads = list(self.case.workloads)
        pools = list(self.case.pools)
        contingencies = list(self.case.contingencies)
        if "deferrable" in self.on:
            waiting = rng.sample(range(len(workloads)), rng.randint(1, len(workloads)))
            for number in waiting:
                hours = rng.choice((1, 1, 2, 3, 5, 23, 30))
                workloads[number] = workloads[number].model_copy(update={"deferrable_hours": hours})
        if "ready" in self.on:
            for number in rng.sample(range(len(pools)), rng.randint(1, len(pools))):
                pools[number] = pools[number].model_copy(update={"ready_hours": rng.choice((1, 1, 2, 4, 25))})
        if "quota" in self.on:
            pools = self._quotas(pools)
        contingencies = self._contingencies(contingencies, pools)
        discounts = self._discounts() if "discounts" in self.on else []
        return self.case.model_copy(
            update={
                "workloads": tuple(workloads),
                "pools": tuple(pools),
                "contingencies": tuple(contingencies),
                "discounts": tuple(discounts),
            }
        )

    def _few_busy_hours(self) -> None:
        """Demand outside three to six hours is 0; some of these follow each other, perhaps over midnight."""
        rng = self.rng
        first = rng.randrange(24)
        busy = {(first + step) % 24 for step in range(rng.randint(1, 3))} | {rng.randrange(24) for _ in range(rng.randint(2, 3))}
        workloads: list[Workload] = []
        for workload in self.case.workloads:
            days = []
            for day in workload.demand:
                level = [rng.choice((0.3, 0.6, 1.0, 1.0)) if hour in busy else 0.0 for hour in range(24)]
                peak = max(day.output_tps)
                inputs = day.input_tps and tuple(
                    factor * peak * (workload.input_tokens or 0.0) / (workload.output_tokens or 1.0) * rng.choice((0.5, 1.0, 2.0))
                    for factor in level
                )
                outputs = tuple(factor * peak for factor in level)
                days.append(day.model_copy(update={"output_tps": outputs, "input_tps": inputs}))
            workloads.append(workload.model_copy(update={"demand": tuple(days)}))
        self.case = self.case.model_copy(update={"workloads": tuple(workloads)})

    def _quotas(self, pools: list[Pool]) -> list[Pool]:
        rng = self.rng
        types = [offer.node_type for offer in self.case.offers if offer.purchase != "spot"] or [
            self.case.node_types[0].node_type
        ]
        quota = {"fixed_nodes": rng.randint(1, 2), "fixed_node_type": rng.choice(types)}
        if rng.random() < 0.5:
            return [*pools, Pool(pool="lab", kind="experiments").model_copy(update=quota)]
        number = rng.randrange(len(pools))
        return [pool.model_copy(update=quota) if place == number else pool for place, pool in enumerate(pools)]

    def _contingencies(self, rows: list[Contingency], pools: list[Pool]) -> list[Contingency]:
        rng = self.rng
        names = [pool.pool for pool in pools]
        wanted = [name for name in ("lost_frac", "zone", "shortage") if name in self.on]
        if not wanted:
            return rows
        if not rows or rng.random() < 0.3:
            chosen = tuple(names if rng.random() < 0.6 else [rng.choice(names)])
            rows = [*rows[:1], Contingency(contingency=f"worse day {len(rows)}", pools=chosen)]
        for name in wanted:
            number = rng.randrange(len(rows))
            changes: dict[str, dict[str, object]] = {
                "lost_frac": {"replicas_lost_frac": rng.choice((0.1, 0.3, 0.5, 1.0))},
                "zone": {"scope": "zone"},
                "shortage": {"on_demand_obtainable_frac": rng.choice((0.0, 0.5, 0.5, 0.7, 0.8))},
            }
            rows[number] = rows[number].model_copy(update=changes[name])
        return rows

    def _discounts(self) -> list[Discount]:
        rng = self.rng
        offers: list[Offer] = [
            offer for offer in self.case.offers if offer.purchase in ("on_demand", "flex") and offer.used_usd_per_node_h > 0
        ]
        if not offers:
            return []
        rows = []
        for number in range(rng.choice((1, 1, 2))):
            covered = rng.sample(offers, rng.randint(1, len(offers)))
            limits: dict[str, float] = {}
            usual = sum(offer.used_usd_per_node_h for offer in covered)
            if rng.random() < 0.4:
                limits["max_commit_usd_per_h"] = round(usual * rng.uniform(0.3, 2.0), 2)
            if rng.random() < 0.4:
                most = limits.get("max_commit_usd_per_h", usual)
                limits["min_commit_usd_per_h"] = round(min(usual * rng.uniform(0.2, 1.0), most), 2)
            for place, offer in enumerate(covered):
                price = round(offer.used_usd_per_node_h / offer.effective_frac * rng.uniform(0.4, 1.05), 3)
                stated = limits if place == 0 or rng.random() < 0.5 else {}
                row = Discount(discount=f"plan {number}", offer=offer.offer, discounted_usd_per_node_h=price)
                rows.append(row.model_copy(update=stated))
        return rows


def random_dagger_case(seed: int, features: Iterable[str] | None = None, *, replicas_at_peak: float = 2.5) -> Case:
    """A small case. features: exactly these of DAGGERS (None = each by its chance, at least one). ValueError for others."""
    return _Dagger(seed, features, replicas_at_peak).made()
