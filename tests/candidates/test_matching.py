"""Each rule of INPUTS "Match", and the operating point of a sweep."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.candidates.matching import (
    ShapeChoice,
    choose_shape,
    compares_latency,
    concurrency_miss,
    kind_miss,
    latency_miss,
    missing_miss,
    not_measured_miss,
    operating_point,
    prefix_miss,
    shape_distance,
    shape_miss,
    unstated_conditions,
)
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.policy import Policy
from optimizer.domain.workload import DemandDay
from tests.candidates.build import row, workload
from tests.helpers.refcase import START_DATE, TODAY

STRICT = Policy(start_date=START_DATE, today=TODAY)
NEAREST = Policy(start_date=START_DATE, today=TODAY, shape="nearest")
SHAPED = workload(input_tokens=1000, output_tokens=200)


def code(miss: object) -> str | None:
    return None if miss is None else miss.code.value  # type: ignore[attr-defined]


def test_kinds_outside_the_policy_are_not_used() -> None:
    assert code(kind_miss(row(kind="estimated"), STRICT)) == "KIND_NOT_ALLOWED"
    assert kind_miss(row(kind="measured"), STRICT) is None
    both = STRICT.model_copy(update={"goodput_kinds": ("measured", "estimated")})
    assert kind_miss(row(kind="estimated"), both) is None


@pytest.mark.parametrize("name", ["input_tokens", "output_tokens", "ttft_ms", "tpot_ms"])
def test_a_condition_is_stated_by_both_or_by_neither(name: str) -> None:
    states = {name: 100.0}
    assert not_measured_miss(row(**states), workload(**states)) is None
    assert missing_miss(row(**states), workload(**states)) is None
    assert name not in unstated_conditions(row(**states), workload(**states))

    miss = not_measured_miss(row(), workload(**states))
    assert code(miss) == "NOT_MEASURED_THERE"
    assert miss is not None
    assert miss.numbers == ((name, 100.0),)

    miss = missing_miss(row(**states), workload())
    assert code(miss) == ("SHAPE_MISSING" if name.endswith("tokens") else "SLO_MISSING")

    assert not_measured_miss(row(), workload()) is None
    assert missing_miss(row(), workload()) is None
    assert name in unstated_conditions(row(), workload())


def test_prefix_hits_of_the_row_are_at_most_the_workloads() -> None:
    assert prefix_miss(row(prefix_hit_frac=0.5), workload(prefix_hit_frac=0.5)) is None
    assert prefix_miss(row(prefix_hit_frac=0.1), workload(prefix_hit_frac=0.5)) is None
    miss = prefix_miss(row(prefix_hit_frac=0.6), workload(prefix_hit_frac=0.5))
    assert code(miss) == "PREFIX_HIT_HIGHER"


@pytest.mark.parametrize("name", ["ttft_ms", "tpot_ms"])
def test_latency_of_the_row_is_at_most_the_workloads(name: str) -> None:
    assert latency_miss(row(**{name: 50.0}), workload(**{name: 50.0})) is None
    assert latency_miss(row(**{name: 20.0}), workload(**{name: 50.0})) is None
    miss = latency_miss(row(**{name: 50.1}), workload(**{name: 50.0}))
    assert code(miss) == "LATENCY_ABOVE_SLO"
    assert miss is not None
    assert miss.numbers == ((name, 50.1), (f"workload_{name}", 50.0))
    assert "50.1" in miss.reason
    assert "50" in miss.reason


def test_both_latencies_are_named_where_both_are_too_high() -> None:
    miss = latency_miss(row(ttft_ms=400, tpot_ms=60), workload(ttft_ms=300, tpot_ms=50))
    assert miss is not None
    assert [name for name, _ in miss.numbers] == ["ttft_ms", "workload_ttft_ms", "tpot_ms", "workload_tpot_ms"]
    assert miss.excess == pytest.approx(400 / 300)


def test_latency_is_compared_only_where_both_state_it() -> None:
    assert compares_latency(row(tpot_ms=5), workload(tpot_ms=9))
    assert not compares_latency(row(tpot_ms=5), workload(ttft_ms=9))
    assert not compares_latency(row(), workload())


def test_strict_shape_is_equal() -> None:
    rows = [row(input_tokens=1000, output_tokens=200), row(input_tokens=1001, output_tokens=200)]
    choice = choose_shape(rows, SHAPED, STRICT)
    assert choice == ShapeChoice(shape=(1000, 200), distance=0.0, lighter=False)
    assert shape_miss(rows[0], SHAPED, choice) is None
    miss = shape_miss(rows[1], SHAPED, choice)
    assert code(miss) == "OTHER_SHAPE"
    assert miss is not None
    assert dict(miss.numbers)["workload_input_tokens"] == 1000
    assert choose_shape(rows[1:], SHAPED, STRICT) is None
    assert code(shape_miss(rows[1], SHAPED, None)) == "OTHER_SHAPE"


def test_shape_that_neither_states_is_no_condition() -> None:
    choice = choose_shape([row()], workload(), STRICT)
    assert choice == ShapeChoice(shape=(None, None), distance=0.0, lighter=False)
    assert shape_miss(row(), workload(), choice) is None
    assert choose_shape([], workload(), STRICT) is None


def test_nearest_shape_is_the_least_distance_among_those_at_least_as_heavy() -> None:
    # Ratio 5 and 1,200 tokens asked. (900, 200): nearest, but ratio 4.5. (1200, 200): ratio 6, distance ln 1.2.
    # (2000, 400): ratio 5, 2 ln 2. (990, 198): ratio 5, but 1,188 tokens.
    shapes = [(2000, 400), (1200, 200), (900, 200), (990, 198)]
    rows = [row(input_tokens=i, output_tokens=o) for i, o in shapes]
    choice = choose_shape(rows, SHAPED, NEAREST)
    assert choice is not None
    assert choice.shape == (1200, 200)
    assert choice.distance == pytest.approx(math.log(1.2))
    assert not choice.lighter
    assert [shape_miss(each, SHAPED, choice) is None for each in rows] == [False, True, False, False]


def test_equal_ratio_and_equal_total_are_heavy_enough() -> None:
    choice = choose_shape([row(input_tokens=1000, output_tokens=200)], SHAPED, NEAREST)
    assert choice == ShapeChoice(shape=(1000, 200), distance=0.0, lighter=False)


def test_nearest_of_all_is_lighter_where_none_is_heavy_enough() -> None:
    rows = [
        row(input_tokens=500, output_tokens=200),
        row(input_tokens=1000, output_tokens=210),
        row(input_tokens=100, output_tokens=20),
    ]
    choice = choose_shape(rows, SHAPED, NEAREST)
    assert choice is not None
    assert choice.shape == (1000, 210)  # ratio 4.76: more output than asked makes it no heavier
    assert choice.lighter
    assert choice.distance == pytest.approx(math.log(1.05))


def test_one_token_count_alone_is_compared_alone() -> None:
    only_output = workload(output_tokens=200)
    rows = [row(output_tokens=100), row(output_tokens=300)]
    choice = choose_shape(rows, only_output, NEAREST)
    assert choice is not None
    assert choice.shape == (None, 300)
    assert choose_shape(rows, only_output, STRICT) is None


def test_the_heavier_of_two_equally_near_shapes_counts() -> None:
    asked = workload(input_tokens=1000, output_tokens=1000)
    rows = [
        row(input_tokens=2000, output_tokens=1000),
        row(input_tokens=2000, output_tokens=1000),
        row(input_tokens=4000, output_tokens=2000),
    ]
    choice = choose_shape(rows, asked, NEAREST)
    assert choice is not None
    assert choice.shape == (2000, 1000)
    tie = [row(input_tokens=500, output_tokens=1000), row(input_tokens=1000, output_tokens=2000)]
    assert shape_distance((500, 1000), asked) == shape_distance((1000, 2000), asked)
    choice = choose_shape(tie, asked, NEAREST)
    assert choice is not None
    assert choice.shape == (1000, 2000)
    assert choice.lighter


tokens = st.integers(1, 100_000)


@settings(derandomize=True, deadline=None)
@given(st.lists(st.tuples(tokens, tokens), min_size=1, max_size=6), tokens, tokens)
def test_nearest_shape_as_the_rule_reads(shapes: list[tuple[int, int]], asked_in: int, asked_out: int) -> None:
    asked = workload(input_tokens=asked_in, output_tokens=asked_out)
    choice = choose_shape([row(input_tokens=i, output_tokens=o) for i, o in shapes], asked, NEAREST)
    assert choice is not None
    # Whole numbers, so the rule can be read exactly.
    heavy = [(i, o) for i, o in shapes if i * asked_out >= asked_in * o and i + o >= asked_in + asked_out]
    assert choice.lighter == (not heavy)
    least = min(abs(math.log(i / asked_in)) + abs(math.log(o / asked_out)) for i, o in heavy or shapes)
    assert choice.distance == pytest.approx(least, abs=1e-9)


def test_goodput_is_at_most_concurrency_over_tpot() -> None:
    # 46 sequences at 32.9 ms give 1,398 tok/s; 1,400 is rounding, 1,500 is not.
    assert concurrency_miss(row(output_tps=1400, concurrency=46, tpot_ms=32.9, latency_stat="mean")) is None
    miss = concurrency_miss(row(output_tps=1500, concurrency=46, tpot_ms=32.9, latency_stat="mean"))
    assert code(miss) == "GOODPUT_ABOVE_CONCURRENCY"
    assert miss is not None
    assert dict(miss.numbers)["bound_tps"] == pytest.approx(46_000 / 32.9)
    assert code(concurrency_miss(row(output_tps=1500, concurrency=46, tpot_ms=32.9))) == "GOODPUT_ABOVE_CONCURRENCY"


@pytest.mark.parametrize("stat", ["p90", "p99"])
def test_a_tail_tpot_may_be_up_to_twice_the_mean(stat: str) -> None:
    # 64 sequences with a mean TPOT of 30 ms give 2,133 tok/s, whatever the p99 of 50 ms.
    assert concurrency_miss(row(output_tps=2000, concurrency=64, tpot_ms=50, latency_stat=stat)) is None
    assert (
        code(concurrency_miss(row(output_tps=2700, concurrency=64, tpot_ms=50, latency_stat=stat))) == "GOODPUT_ABOVE_CONCURRENCY"
    )


def test_concurrency_is_checked_only_where_known() -> None:
    assert concurrency_miss(row(output_tps=1400, tpot_ms=40)) is None
    # An empty cell reads 1, and a workbook written from it says 1.
    assert concurrency_miss(row(output_tps=1400, tpot_ms=40, concurrency=1)) is None
    assert concurrency_miss(row(output_tps=1400, concurrency=2)) is None
    assert code(concurrency_miss(row(output_tps=1400, tpot_ms=40, concurrency=2))) == "GOODPUT_ABOVE_CONCURRENCY"


def test_separate_prefill_needs_an_input_rate() -> None:
    assert code(missing_miss(row(input_tps=5000), workload())) == "SHAPE_MISSING"
    shaped = workload(input_tokens=1000, output_tokens=200)
    assert missing_miss(row(input_tps=5000, input_tokens=1000, output_tokens=200), shaped) is None
    with_input = workload(demand=(DemandDay(day_type="day", output_tps=(1.0,) * 24, input_tps=(5.0,) * 24),))
    assert missing_miss(row(input_tps=5000), with_input) is None


def sweep(*points: tuple[float, float, float]) -> list[GoodputRow]:
    return [row(output_tps=tps, ttft_ms=ttft, tpot_ms=tpot) for tps, ttft, tpot in points]


# Measured sweeps (output tok/s, TTFT p99, TPOT p90) of one H100 pair or single, from a published study
# (arXiv:2606.11690, Table 4; data file master_results.csv of its repository); answers at 300 ms and 50 ms.
LLAMA_8B_FP16 = sweep(
    (255.1, 54.3, 6.8), (1257.0, 713.3, 8.9), (2464.4, 84.5, 11.5), (5265.09, 259.0, 36.3), (6124.2, 994.8, 70.1)
)
QWEN_30B_FP8 = sweep((5279.9, 143.9, 28.6), (7362.66, 264.2, 43.6), (8902.5, 431.2, 48.8), (9271.0, 2229.0, 49.4))
MIXTRAL_FP16 = sweep((1226.0, 568.3, 23.2), (2327.57, 202.4, 32.3), (4061.1, 689.0, 80.4))


@pytest.mark.parametrize(("rows", "tps"), [(LLAMA_8B_FP16, 5265.09), (QWEN_30B_FP8, 7362.66), (MIXTRAL_FP16, 2327.57)])
def test_operating_point_of_published_sweeps(rows: list[GoodputRow], tps: float) -> None:
    point = operating_point(rows, 300, 50)
    assert point is not None
    assert point.output_tps == tps
    assert operating_point(reversed(rows), 300, 50) == point


def test_operating_point_is_measured_or_none() -> None:
    assert operating_point(LLAMA_8B_FP16, 50, 50) is None
    assert operating_point([], 300, 50) is None
    unlimited = operating_point(LLAMA_8B_FP16, None, None)
    assert unlimited is not None
    assert unlimited.output_tps == 6124.2
    assert operating_point([row(output_tps=9999)], 300, None) is None
    at_limit = operating_point(sweep((10, 300, 50)), 300, 50)
    assert at_limit is not None
