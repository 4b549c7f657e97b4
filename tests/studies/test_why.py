"""Why each line is in the mix: the numbers of its sentence, worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest

from optimizer.domain.case import Case
from optimizer.studies.explanation import explain_plan
from optimizer.studies.why import WhyLine, why_lines
from tests.studies.cases import NEWSVENDOR, PEAK, case, offer, replicas, solved_plan, workload

HELD = offer("held", held_usd_per_node_h=2.0)
ON_DEMAND = offer("od", "on_demand", used_usd_per_node_h=4.5)


def lines(given: Case) -> dict[str, WhyLine]:
    candidates, plan = solved_plan(given)
    return {line.name: line for line in why_lines(given, candidates, plan)}


def test_held_and_on_demand() -> None:
    """Eight held: the eighth runs 11 h and pays from 24 x 2 / 4.5 = 10.67 h. Two on demand: the ninth runs 8 h, the tenth 4."""
    found = lines(case(replicas(*NEWSVENDOR), Offers=[HELD, ON_DEMAND]))
    held, on_demand = found["held"], found["od"]
    assert (held.nodes, held.hours_per_node, held.last_node_hours) == (8, 18, 11)
    assert held.break_even_hours == pytest.approx(24 * 2 / 4.5)
    assert held.sentence == (
        "held: 8 B300 nodes reserved: used 18 h a day each (the last one 11 h), break-even 10.67 h against od."
    )
    assert (on_demand.nodes, on_demand.first_node_hours, on_demand.last_node_hours) == (2, 8, 4)
    assert on_demand.sentence == (
        "od: up to 2 B300 nodes on demand, 9:00-17:00: 12 node-hours a day, its first node 8 h; "
        "holding held instead pays from 10.67 h a day."
    )


def test_break_even_counts_upfront_energy_and_the_effective_share() -> None:
    """$87,600 a year is $240 a day; on demand costs 30 / 0.8 + 14.3 x 1.5 x 0.1, held 2 + the same energy to use."""
    held = offer("own", "owned", held_usd_per_node_h=1.0, used_usd_per_node_h=2.0, upfront_usd_per_node=87_600.0, site="dc")
    on_demand = offer("od", "on_demand", effective_frac=0.8, site="dc")
    line = lines(case(PEAK, Offers=[held, on_demand], Sites=[{"site": "dc", "pue": 1.5, "usd_per_kwh": 0.1}]))["own"]
    assert line.break_even_hours == pytest.approx((24 + 240) / (30 / 0.8 - 2))


def test_windows_of_the_alternative() -> None:
    line = lines(case(PEAK, Offers=[offer(), offer("od", "on_demand", hours="8-20", used_usd_per_node_h=40.0)]))["flat"]
    assert line.break_even_hours == pytest.approx(12)
    assert line.sentence.endswith("break-even 12 h against od, which is open in 50 % of its hours.")


def test_against_an_api_where_nothing_is_on_demand() -> None:
    """Two full nodes at $20 serve 4,800 tok/s: $40 for 17.28 M tokens an hour, against $5."""
    given = case(
        replicas(*[2] * 24), Workloads=[workload(api="cloud")], ApiPrices=[{"api": "cloud", "output_usd_per_mtok": 5.0}]
    )
    line = lines(given)["flat"]
    assert (line.usd_per_mtok, line.alternative_usd_per_mtok) == pytest.approx((40 / 17.28, 5.0))
    assert line.sentence.endswith("nothing sells b300x8 on demand, $2.31/M tokens against $5.00 at an API.")


def test_nothing_else_could_serve() -> None:
    assert lines(case(PEAK))["flat"].sentence.endswith(
        "neither an on-demand offer of b300x8 nor an API could serve them."
    )


def test_the_api_line() -> None:
    """Two nodes and 1,200 of 6,000 tok/s in three hours: 3,600 of 118,800 tok/s-hours."""
    demand = replicas(*[2] * 13, 2.5, 2.5, 2.5, rest=2)
    given = case(
        demand, Offers=[offer(max_nodes=2)], Workloads=[workload(api="cloud")],
        ApiPrices=[{"api": "cloud", "output_usd_per_mtok": 10.0}],
    )
    line = lines(given)["cloud"]
    assert (line.token_share, line.first_node_hours, line.usd_per_mtok) == pytest.approx((3600 / 118_800, 3, 10))
    assert line.sentence == "cloud: 3.03 % of output tokens in 3 h a day, 13:00-16:00, at $10.00/M beside $2.31 on the fleet."


def test_existing_nodes_are_said_to_be_there() -> None:
    given = case(PEAK, Existing=[{"offer": "flat", "nodes": 4}])
    assert lines(given)["flat"].sentence.startswith("flat: 6 B300 nodes reserved (2 new): used 24 h a day each")


def test_a_commitment() -> None:
    """Two nodes on demand all day at $30, discounted to $21: $42 an hour, all of it spent."""
    given = case(
        replicas(*[2] * 24), Offers=[offer("od", "on_demand")],
        Discounts=[{"discount": "plan", "offer": "od", "discounted_usd_per_node_h": 21.0}],
    )
    assert lines(given)["plan"].sentence == (
        "plan: $42.00 an hour committed, $1,008.00 a day; 100 % of it is spent, on nodes of $1,440.00 a day at list price."
    )


@pytest.mark.parametrize(("held", "tables", "words"), [
    ({"min_nodes": 9}, {}, "it is sold from 9 nodes on"),
    ({"lot_nodes": 4}, {}, "it is sold in lots of 4"),
    ({"max_nodes": 1}, {}, "max_nodes of offer flat is at the bound"),
    ({"purchase": "owned", "site": "dc"}, {"Sites": [{"site": "dc", "racks": 1, "slots_per_rack": 1, "total_kw": 20}]},
     "total_kw of site dc and racks of site dc are at the bound"),
])
def test_on_demand_beyond_its_break_even_says_what_stands_in_the_way(
    held: dict[str, Any], tables: dict[str, Any], words: str
) -> None:
    """Two replicas all day: on demand at $30 where holding at $20 pays from 16 h."""
    line = lines(case(replicas(*[2] * 24), Offers=[offer(**held), offer("od", "on_demand")], **tables))["od"]
    assert line.sentence.endswith(f"holding flat instead pays from 16 h a day, but {words}.")


def test_held_below_its_break_even_says_why() -> None:
    """Three replicas all day and a fourth for an hour."""
    demand = replicas(4, rest=3)
    lots = lines(case(demand, Offers=[offer(lot_nodes=4), offer("od", "on_demand")]))["flat"]
    assert lots.sentence == (
        "flat: 4 B300 nodes reserved: used 18.25 h a day each (the last one 1 h), break-even 16 h against od; "
        "it is sold in lots of 4."
    )
    capped = lines(case(replicas(5, rest=3), Offers=[offer(), offer("od", "on_demand", max_nodes=1)]))["flat"]
    assert capped.sentence.endswith("(the last one 1 h), break-even 16 h against od; all that can be had of od is in use.")
    short = [{"contingency": "short", "on_demand_obtainable_frac": 0.0}]
    kept = lines(case(demand, Offers=[offer(), offer("od", "on_demand")], Contingencies=short))["flat"]
    assert kept.sentence.endswith("break-even 16 h against od; idle nodes held count in contingency short.")
    least = lines(case(demand, Offers=[offer(min_nodes=4), offer("od", "on_demand")]))["flat"]
    assert least.sentence.endswith("break-even 16 h against od; it is sold from 4 nodes on.")


def test_a_standing_quota_is_named() -> None:
    """Two nodes of another type that serve nothing."""
    pools = [
        {"pool": "chat", "kind": "interactive"},
        {"pool": "lab", "kind": "experiments", "fixed_nodes": 2, "fixed_node_type": "h200x8"},
    ]
    given = case(replicas(*[2] * 24), Pools=pools, Offers=[offer(), offer("bench", node_type="h200x8")])
    assert lines(given)["bench"].sentence.endswith(
        "nothing sells h200x8 on demand, and it serves no tokens in the plan; pool lab keeps 2 of h200x8 as a standing quota."
    )


def test_one_node_hour() -> None:
    line = lines(case(replicas(3, rest=2), Offers=[offer(), offer("od", "on_demand")]))["od"]
    assert ", 0:00-1:00: 1 node-hour a day; " in line.sentence


def test_all_studies_in_one_call() -> None:
    given = case(
        replicas(*NEWSVENDOR), Offers=[{**HELD, "max_nodes": 7}, ON_DEMAND, offer("dear")],
        Contingencies=[{"contingency": "n+1", "replicas_lost": 1}],
    )
    candidates, plan = solved_plan(given)
    found = explain_plan(given, candidates, plan, budget_s=600.0)
    assert [line.name for line in found.why] == ["held", "od"]
    assert [row.limit for row in found.headroom] == ["contingency"]
    assert {row.limit for row in found.worth} == {"max_nodes", "demand"}
    assert [row.name for row in found.entry] == ["dear"]
    assert (found.cost_usd_per_day, found.bound_usd_per_day) == pytest.approx((plan.cost.total, plan.cost.total))
    nothing = explain_plan(given, candidates, plan, budget_s=0.0)
    assert nothing.why == found.why
    assert {row.found for row in (*nothing.headroom, *nothing.worth, *nothing.entry)} == {"not computed: time"}
