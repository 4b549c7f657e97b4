"""A plan's JSON object checked from outside: against the tables it was planned from, by the interface page alone.

Nothing of the product's program, ledger or audit is used: rows of tables in, the object of `plan --json` in, breaches out.
"""

from __future__ import annotations

import datetime
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
Json = Mapping[str, Any]

HELD = ("owned", "reserved", "flex")
DAYS_PER_MONTH = 365 / 12
NODE_PARTS = ("held", "used", "upfront", "energy", "site")


def near(value: float, wanted: float) -> bool:
    """Equal to 1e-6, of their size or of 1."""
    return math.isclose(value, wanted, rel_tol=1e-6, abs_tol=1e-6)


def window(text: str | None) -> set[int]:
    """Hours of `22-6;8-12`."""
    hours: set[int] = set()
    for part in (text or "0-24").split(";"):
        start, end = (int(word) for word in part.split("-"))
        hours |= {(start + step) % 24 for step in range((end - start) % 24 or 24)}
    return hours


class Outside:
    """The tables and the result by key, and every check as a method that yields sentences."""

    def __init__(self, tables: Tables, result: Json) -> None:
        self.tables, self.result = tables, result
        self.policy = {row["key"]: row["value"] for row in tables["Policy"]}
        self.start = datetime.date.fromisoformat(self.policy["start_date"])
        days = {row["day_type"]: row["days"] for row in tables.get("DayTypes", [])} or {"day": 1}
        self.weight = {day: count / sum(days.values()) for day, count in days.items()}
        self.slices = [(day, hour) for day in days for hour in range(24)]
        self.demand = {
            (row["workload"], day, row["hour"]): row["output_tps"]
            for row in tables["Demand"]
            for day in ([row["day_type"]] if row.get("day_type") else days)
        }
        self.workloads = {row["workload"]: row for row in tables["Workloads"]}
        self.pools = {row["pool"]: row for row in tables["Pools"]}
        self.node_types = {row["node_type"]: row for row in tables["NodeTypes"]}
        self.offers = {row["offer"]: row for row in tables["Offers"]}
        self.sites = {row["site"]: row for row in tables["Sites"]}
        self.existing: dict[str, int] = defaultdict(int)
        for row in tables["Existing"]:
            if not row.get("expires") or datetime.date.fromisoformat(row["expires"]) >= self.start:
                self.existing[row["offer"]] += row["nodes"]
        self.hours = {(row["workload"], row["day_type"], row["hour"]): row for row in result["hours"]}
        self.replicas = {(row["pool"], row["option"], row["day_type"], row["hour"]): row for row in result["replicas"]}
        self.used = {(row["offer"], row["day_type"], row["hour"]): row["used"] for row in result["nodes"]}
        self.lines = {row["offer"]: row for row in result["purchases"]}
        self.options = {(row["pool"], row["option"], row["workload"]): row for row in result["options"]}
        self.shape = {(pool, option): row for (pool, option, _), row in self.options.items()}

    def breaches(self) -> list[str]:
        """Every sentence of every check."""
        checks = (
            self.keys,
            self.service,
            self.standing,
            self.nodes,
            self.buying,
            self.money,
            self.prices,
            self.racks,
            self.bad_days,
        )
        return [sentence for check in checks for sentence in check()]

    def of_pool(self, pool: str) -> list[Row]:
        return [row for row in self.workloads.values() if row["pool"] == pool]

    def standing_in(self, pool: str, day: str, hour: int) -> dict[str, Row]:
        """Replicas per option of a pool in one hour."""
        return {key[1]: row for key, row in self.replicas.items() if (key[0], *key[2:]) == (pool, day, hour)}

    def tps_per_replica(self, workload: Row, option: str) -> float:
        """Mean output tok/s of one replica: occupancy x goodput / burst."""
        point = self.options.get((workload["pool"], option, workload["workload"]))
        occupancy: float = self.pools[workload["pool"]].get("occupancy_frac", 1)
        return point["output_tps"] * occupancy / workload.get("burst_factor", 1) if point else 0.0

    # ------------------------------------------------------------------ what is served

    def keys(self) -> Iterator[str]:
        """One row per key, none missing, and the proof that the status claims."""
        result = self.result
        for name, rows in (("hours", self.hours), ("replicas", self.replicas), ("nodes", self.used), ("purchases", self.lines)):
            if len(rows) != len(result[name]):
                yield f"{name}: keys repeated"
        if set(self.hours) != {(name, *key) for name in self.workloads for key in self.slices}:
            yield "hours: not every workload and hour"
        cost, bound = result["cost_usd_per_day"], result["bound_usd_per_day"]
        if bound > cost + 1e-6 or (cost > 0 and not near(result["gap_frac"], max(0.0, (cost - bound) / cost))):
            yield f"gap_frac {result['gap_frac']}: cost {cost}, bound {bound}"
        if result["audit"] != {"ok": True, "violations": []}:
            yield f"audit {result['audit']}"

    def service(self) -> Iterator[str]:
        """load + overflow = demand after shifting; shares of API and spot; what one workload's replicas can carry."""
        for (name, day, hour), row in self.hours.items():
            workload, run = self.workloads[name], row["run_tps"]
            if not near(row["demand_tps"], self.demand[name, day, hour]) or not near(row["fleet_tps"] + row["api_tps"], run):
                yield f"service {row}"
            if not workload.get("deferrable_hours") and not near(run, row["demand_tps"]):
                yield f"work that cannot wait was shifted: {row}"
            apis = [
                api for api in self.tables["ApiPrices"] if api["api"] == workload.get("api") and hour in window(api.get("hours"))
            ]
            if row["api_tps"] > 0 and (not apis or row["api_tps"] > workload.get("api_max_frac", 1) * run + 1e-6):
                yield f"overflow {row}"
        for name, workload in self.workloads.items():
            wait = int(workload.get("deferrable_hours", 0))
            for day in self.weight if wait else []:
                run_by = [self.hours[name, day, hour]["run_tps"] for hour in range(24)]
                asked = [self.demand[name, day, hour] for hour in range(24)]
                if not near(sum(run_by), sum(asked)):
                    yield f"{name}, {day}: {sum(run_by)} of {sum(asked)} tok/s run some time"
                for first in range(24):
                    for length in range(1, 24 - wait):
                        arrived = sum(asked[(first + step) % 24] for step in range(length))
                        if arrived > sum(run_by[(first + step) % 24] for step in range(length + wait)) + 1e-5 * max(1.0, arrived):
                            yield f"{name}, {day}: work of {length} hours from {first} waits longer than {wait}"
        for pool, row in self.pools.items():
            names = [workload["workload"] for workload in self.of_pool(pool)]
            for day, hour in self.slices:
                own = sum(self.hours[name, day, hour]["fleet_tps"] for name in names)
                spot = sum(self.hours[name, day, hour]["spot_tps"] for name in names)
                if spot > row.get("spot_max_frac", 0) * own + 1e-6 * max(1.0, own):
                    yield f"spot share of {pool}, {day} {hour}: {spot} of {own}"
                if len(names) == 1:
                    workload = self.workloads[names[0]]
                    for kind, load in (("firm", own - spot), ("spot", spot)):
                        room = sum(
                            (count["spot_live"] if kind == "spot" else count["live"] - count["spot_live"])
                            * self.tps_per_replica(workload, option)
                            for option, count in self.standing_in(pool, day, hour).items()
                        )
                        if load > room * (1 + 1e-6) + 1e-6 * max(1.0, load):
                            yield f"{kind} capacity of {pool}, {day} {hour}: {load} on {room}"

    def standing(self) -> Iterator[str]:
        """Whole replicas: live and total, rollout, look-ahead, the least that is live."""
        for (pool, option, day, hour), row in self.replicas.items():
            rules = self.pools[pool]
            counts = [row["spot_live"], row["live"], row["total"], row["spot_total"], row["live"] - row["spot_live"]]
            firm_total = row["total"] - row["spot_total"]
            if (
                any(not isinstance(count, int) or count < 0 for count in counts)
                or counts[4] > firm_total
                or counts[0] > counts[3]
            ):
                yield f"replicas {row}"
            surge = rules.get("rollout_frac", 0) if hour in window(rules.get("rollout_hours")) else 0
            if row["total"] < math.ceil((1 + surge) * row["live"] - 1e-9):
                yield f"rollout {row}"
            for ahead in range(1, rules.get("ready_hours", 0) + 1):
                before = self.replicas.get((pool, option, day, (hour - ahead) % 24))
                if (before["total"] if before else 0) < row["live"]:
                    yield f"ready_hours {row}, {ahead} before: {before}"
        for pool, rules in self.pools.items():
            for day, hour in self.slices:
                live = sum(row["live"] for row in self.standing_in(pool, day, hour).values())
                if live < rules.get("min_live", 0):
                    yield f"min_live of {pool}, {day} {hour}: {live}"

    # ------------------------------------------------------------------ what is bought

    def nodes(self) -> Iterator[str]:
        """Replicas and standing quotas within the nodes used, firm and spot apart."""
        for day, hour in self.slices:
            for name, node_type in self.node_types.items():
                for spot in (False, True):
                    gpus = sum(
                        (row["spot_total"] if spot else row["total"] - row["spot_total"])
                        * self.shape[key[:2]]["gpus_per_replica"]
                        for key, row in self.replicas.items()
                        if key[2:] == (day, hour) and self.shape[key[:2]]["node_type"] == name
                    )
                    quotas = sum(row.get("fixed_nodes", 0) for row in self.pools.values() if row.get("fixed_node_type") == name)
                    there = sum(
                        self.used.get((offer, day, hour), 0)
                        for offer, row in self.offers.items()
                        if row["node_type"] == name and (row["purchase"] == "spot") == spot
                    )
                    if gpus > (there - (0 if spot else quotas)) * node_type["gpus_per_node"]:
                        yield f"nodes of {name}, {day} {hour}, spot {spot}: {gpus} GPUs and quotas of {quotas} nodes on {there}"

    def buying(self) -> Iterator[str]:
        """Lots, minimum, maximum, windows, lead time; the lines of the buy list."""
        today = datetime.date.fromisoformat(self.policy["today"])
        for name, offer in self.offers.items():
            used = {key: self.used.get((name, *key), 0) for key in self.slices}
            peak, existing, line = max(used.values()), self.existing[name], self.lines.get(name)
            if line is None:
                if peak or existing:
                    yield f"no line for {name}"
                continue
            new, held, most = line["nodes_new"], offer["purchase"] in HELD, offer.get("max_nodes", math.inf)
            order_by = self.start - datetime.timedelta(days=math.ceil(7 * offer.get("lead_weeks", 0)))
            if held and (new % offer.get("lot_nodes", 1) or new > most or 0 < new < offer.get("min_nodes", 0)):
                yield f"{new} nodes of {name}"
            if peak > (new + existing if held else most) or (new and not held) or line["nodes_existing"] != existing:
                yield f"{peak} nodes used of {line}"
            if order_by < today and (new or (peak and not held)):
                yield f"{name} is bought and had to be ordered by {order_by}"
            if line["order_by"] not in ((None,) if held and not new else (order_by.isoformat(),)):
                yield f"order_by of {name}: {line['order_by']}"
            if any(count and hour not in window(offer.get("hours")) for (_, hour), count in used.items()):
                yield f"{name} is used outside its hours"
            gpus = (new + existing if held else peak) * self.node_types[offer["node_type"]]["gpus_per_node"]
            node_hours = sum(self.weight[day] * count for (day, _), count in used.items())
            if (line["gpus"], line["peak_nodes_used"]) != (gpus, peak) or not near(line["node_hours_used_per_day"], node_hours):
                yield f"counts of {line}"
            if not near(line["upfront_usd"], new * offer.get("upfront_usd_per_node", 0)):
                yield f"upfront of {line}"
            if any(line[key] != offer.get(key) for key in ("purchase", "node_type", "provider", "region", "site", "term_months")):
                yield f"names of {line}"

    def parts_of(self, name: str) -> dict[str, float]:
        """$/day of an offer by part, at list price."""
        offer, line = self.offers[name], self.lines[name]
        nodes = line["nodes_new"] + line["nodes_existing"]
        node_hours = sum(self.weight[day] * count for (offer_, day, _), count in self.used.items() if offer_ == name)
        site: Row = self.sites.get(offer.get("site", ""), {})
        node_kw = self.node_types[offer["node_type"]].get("node_kw", 0)
        upfront = offer.get("upfront_usd_per_node", 0)
        return {
            "held": nodes * offer.get("held_usd_per_node_h", 0) * len(window(offer.get("hours"))),
            "used": node_hours * offer.get("used_usd_per_node_h", 0) / offer.get("effective_frac", 1),
            "upfront": nodes * upfront / (offer["term_months"] * DAYS_PER_MONTH) if upfront else 0.0,
            "energy": node_hours * node_kw * site.get("pue", 1) * site.get("usd_per_kwh", 0),
            "site": nodes * node_kw * site.get("usd_per_kw_month", 0) / DAYS_PER_MONTH,
        }

    def money(self) -> Iterator[str]:
        """Each part and each line anew; the API by its price; all of it once in the total."""
        result, parts = self.result, self.result["cost_parts_usd_per_day"]
        by_offer = {name: self.parts_of(name) for name in self.lines}
        discounts = bool(self.tables.get("Discounts"))
        for part in NODE_PARTS:
            total = sum(found[part] for found in by_offer.values())
            if not near(parts[part], total) and not (discounts and part == "used" and parts[part] <= total):
                yield f"part {part}: {parts[part]}, not {total}"
        for name, line in self.lines.items():
            if not discounts and not near(line["usd_per_day"], sum(by_offer[name].values())):
                yield f"line of {name}: {line['usd_per_day']}, not {by_offer[name]}"
        api = 0.0
        price = {row["api"]: row for row in self.tables["ApiPrices"]}
        for (name, day, _), row in self.hours.items():
            if row["api_tps"] > 0:
                workload = self.workloads[name]
                terms, hit = price[workload["api"]], workload.get("prefix_hit_frac", 0)
                into = workload["input_tokens"] / workload["output_tokens"] if "input_tokens" in workload else 0
                fresh = terms.get("input_usd_per_mtok", 0)
                usd = terms["output_usd_per_mtok"] + into * (
                    (1 - hit) * fresh + hit * terms.get("cached_input_usd_per_mtok", fresh)
                )
                api += self.weight[day] * row["api_tps"] * 0.0036 * usd
        if not near(parts["api"], api):
            yield f"part api: {parts['api']}, not {api}"
        cost = result["cost_usd_per_day"]
        lines = sum(line["usd_per_day"] for line in self.lines.values())
        if not near(cost, sum(parts.values())) or not near(cost, lines + parts["api"] + parts["discounts"]):
            yield f"cost {cost}: parts {parts}, lines {lines}"

    def prices(self) -> Iterator[str]:
        """$/M tokens under each denominator; null where it is 0."""
        cost, parts = self.result["cost_usd_per_day"], self.result["cost_parts_usd_per_day"]
        mtok = {
            key: sum(self.weight[day] * row[key] * 0.0036 for (_, day, _), row in self.hours.items())
            for key in ("demand_tps", "fleet_tps", "api_tps")
        }
        if not near(self.result["output_mtok_per_day"], mtok["demand_tps"]):
            yield f"output_mtok_per_day {self.result['output_mtok_per_day']}"
        wanted = {
            "forecast": (cost, mtok["demand_tps"]),
            "fleet": (cost - parts["api"], mtok["fleet_tps"]),
            "api": (parts["api"], mtok["api_tps"]),
        }
        if len(self.workloads) == len(self.pools):
            wanted["full_goodput"] = (cost - parts["api"], self.full_goodput_mtok())
        for name, (usd, tokens) in wanted.items():
            found = self.result["usd_per_mtok"][name]
            if (found is not None and not near(found, usd / tokens)) if tokens > 0 else found is not None:
                yield f"usd_per_mtok {name}: {found}, not {usd} / {tokens}"

    def full_goodput_mtok(self) -> float:
        """Tokens had every paid GPU-hour run at the goodput of the options there; for pools of one workload."""
        tps_hours: dict[str, float] = defaultdict(float)
        gpu_hours: dict[str, float] = defaultdict(float)
        for (pool, option, day, _), row in self.replicas.items():
            shape = self.shape[pool, option]
            tps_hours[shape["node_type"]] += self.weight[day] * row["total"] * shape["output_tps"]
            gpu_hours[shape["node_type"]] += self.weight[day] * row["total"] * shape["gpus_per_replica"]
        total = 0.0
        for name, line in self.lines.items():
            offer = self.offers[name]
            held = (line["nodes_new"] + line["nodes_existing"]) * len(window(offer.get("hours")))
            paid = held if offer["purchase"] in HELD else line["node_hours_used_per_day"]
            kind = offer["node_type"]
            if gpu_hours[kind]:
                total += paid * self.node_types[kind]["gpus_per_node"] * tps_hours[kind] / gpu_hours[kind] * 0.0036
        return total

    def racks(self) -> Iterator[str]:
        """Racks of one node type each, and facility power, of nodes held."""
        found = {row["site"]: row for row in self.result["sites"]}
        for name, site in self.sites.items():
            held: dict[str, int] = defaultdict(int)
            for line in self.lines.values():
                if line["site"] == name:
                    held[line["node_type"]] += line["nodes_new"] + line["nodes_existing"]
            nodes = sum(held.values())
            kw = sum(count * self.node_types[kind]["node_kw"] * site["pue"] for kind, count in held.items())
            if nodes and (
                found[name]["nodes"] != nodes or not near(found[name]["kw"], kw) or kw > site.get("total_kw", math.inf) + 1e-9
            ):
                yield f"site {found[name]}: {nodes} nodes, {kw} kW"
            if nodes and "racks" in site:
                in_rack = {
                    kind: min(site["slots_per_rack"], math.floor(site["kw_per_rack"] / self.node_types[kind]["node_kw"]))
                    for kind in held
                }
                racks = sum(math.ceil(count / in_rack[kind]) for kind, count in held.items())
                if found[name]["racks"] != racks or racks > site["racks"]:
                    yield f"site {found[name]}: {racks} racks of {site['racks']}"

    # ------------------------------------------------------------------ bad days

    def bad_days(self) -> Iterator[str]:
        """Pools of one workload, nodes not lost first: spot and then any one option lost, in every hour with demand."""
        margins = {(row["contingency"], row["pool"]): row for row in self.result["contingencies"]}
        for row in self.tables["Contingencies"]:
            interactive = [pool for pool, rules in self.pools.items() if rules.get("kind", "interactive") == "interactive"]
            for pool in [row["pool"]] if row.get("pool") else interactive:
                workloads = self.of_pool(pool)
                if len(workloads) != 1 or workloads[0].get("deferrable_hours") or row.get("on_demand_obtainable_frac", 1) < 1:
                    continue
                worst = min(
                    self.margin(row, workloads[0], day, hour)
                    for day, hour in self.slices
                    if self.demand[workloads[0]["workload"], day, hour] > 0
                )
                found = margins[row["contingency"], pool]["margin_tps"]
                if worst < -1e-3 or not math.isclose(found, worst, rel_tol=1e-4, abs_tol=1e-2):
                    yield f"bad day {row['contingency']} of {pool}: margin {found}, not {worst}"

    def margin(self, contingency: Row, workload: Row, day: str, hour: int) -> float:
        """tok/s served above what is asked, after the worst loss."""
        left = {
            option: row["live"]
            - row["spot_live"]
            + math.floor((1 - contingency.get("spot_lost_frac", 0)) * row["spot_live"] + 1e-9)
            for option, row in self.standing_in(workload["pool"], day, hour).items()
        }
        serves = {option: self.tps_per_replica(workload, option) for option in left}
        worst_loss = 0.0
        for option, count in left.items():
            shape = self.shape[workload["pool"], option]
            on_node = max(1, self.node_types[shape["node_type"]]["gpus_per_node"] // shape["gpus_per_replica"])
            lost = max(contingency.get("replicas_lost", 0), math.ceil(contingency.get("replicas_lost_frac", 0) * count - 1e-9))
            lost += contingency.get("nodes_lost", 0) * on_node
            worst_loss = max(worst_loss, min(lost, count) * serves[option])
        row = self.hours[workload["workload"], day, hour]
        served = sum(count * serves[option] for option, count in left.items()) - worst_loss + row["api_tps"]
        return float(served - row["demand_tps"] * (1 + contingency.get("demand_surge_frac", 0)))


def breaches(tables: Tables, result: Json) -> list[str]:
    """What the object of `plan --json` gets wrong about the plan of these tables; empty = nothing."""
    return Outside(tables, result).breaches()
