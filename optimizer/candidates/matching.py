"""Whether a measurement holds for a workload: kind, shape, prefix hits, latency, and plain physics. Source: INPUTS, "Match".

Each check returns a `Miss` (why the row does not count, with numbers) or None. Rows are never scaled or interpolated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from optimizer.candidates.codes import RejectionCode
from optimizer.domain.base import Frozen
from optimizer.domain.measurement import GoodputRow
from optimizer.domain.names import join_key
from optimizer.domain.policy import Policy
from optimizer.domain.workload import Workload
from optimizer.units import MS_PER_S, ROUNDING_HEDGE

SHAPE = ("input_tokens", "output_tokens")
LATENCY = ("ttft_ms", "tpot_ms")
CONDITIONS = SHAPE + LATENCY

#: Published goodput and TPOT are rounded (33 ms may be 32.5); a goodput up to 2 % above concurrency / TPOT is rounding.
CONCURRENCY_TOLERANCE = 0.02
#: The bound holds for the mean TPOT. A p90 or p99 is above the mean: up to twice the mean is taken as a tail, more contradicts.
TAIL_OVER_MEAN = {"p90": 2.0, "p99": 2.0}
UNSTATED_CONCURRENCY = 1.0


@dataclass(frozen=True)
class Miss:
    """Why one measurement does not count. excess: how far off, relative; of several, the smallest is the nearest miss."""

    code: RejectionCode
    reason: str
    numbers: tuple[tuple[str, float], ...] = ()
    excess: float = 0.0


class ShapeChoice(Frozen):
    """A measured shape taken for a workload's: (input_tokens, output_tokens), None where neither side states one.

    distance: |ln(in/in')| + |ln(out/out')|. lighter: no measured shape is at least as heavy as the workload's.
    """

    shape: tuple[float | None, float | None]
    distance: float
    lighter: bool


def stated(thing: Workload | GoodputRow, condition: str) -> float | None:
    """The value of one of CONDITIONS on a workload or row; None where it states none."""
    value: float | None = getattr(thing, condition)
    return value


def unstated_conditions(row: GoodputRow, workload: Workload) -> tuple[str, ...]:
    """Those of CONDITIONS that neither states: the goodput is taken on trust there."""
    return tuple(name for name in CONDITIONS if stated(row, name) is None and stated(workload, name) is None)


def compares_latency(row: GoodputRow, workload: Workload) -> bool:
    """True where a latency of the row was held against a limit of the workload."""
    return any(stated(row, name) is not None and stated(workload, name) is not None for name in LATENCY)


def kind_miss(row: GoodputRow, policy: Policy) -> Miss | None:
    """KIND_NOT_ALLOWED where the policy does not use measurements of that kind."""
    if join_key(row.kind) in {join_key(kind) for kind in policy.goodput_kinds}:
        return None
    allowed = ", ".join(policy.goodput_kinds) or "none"
    return Miss(RejectionCode.KIND_NOT_ALLOWED, f"the row is {row.kind}, and the policy uses only: {allowed}")


def not_measured_miss(row: GoodputRow, workload: Workload) -> Miss | None:
    """NOT_MEASURED_THERE where the workload states a condition on which the row is silent."""
    silent = [name for name in CONDITIONS if stated(workload, name) is not None and stated(row, name) is None]
    if not silent:
        return None
    asked = ", ".join(f"{name} {stated(workload, name):g}" for name in silent)
    return Miss(
        RejectionCode.NOT_MEASURED_THERE,
        f"the workload states {asked}, and the row does not say what it was measured at",
        tuple((name, stated(workload, name) or 0.0) for name in silent),
        float(len(silent)),
    )


def prefix_miss(row: GoodputRow, workload: Workload) -> Miss | None:
    """PREFIX_HIT_HIGHER where the row was measured with more prefix-cache hits than the workload has."""
    if row.prefix_hit_frac <= workload.prefix_hit_frac + ROUNDING_HEDGE:
        return None
    return Miss(
        RejectionCode.PREFIX_HIT_HIGHER,
        f"measured with prefix_hit_frac {row.prefix_hit_frac:g}, and the workload has {workload.prefix_hit_frac:g}",
        (("prefix_hit_frac", row.prefix_hit_frac), ("workload_prefix_hit_frac", workload.prefix_hit_frac)),
        row.prefix_hit_frac - workload.prefix_hit_frac,
    )


def latency_miss(row: GoodputRow, workload: Workload) -> Miss | None:
    """LATENCY_ABOVE_SLO where a stated TTFT or TPOT of the row is above the workload's limit."""
    words: list[str] = []
    numbers: list[tuple[str, float]] = []
    excess = 0.0
    for name in LATENCY:
        measured, limit = stated(row, name), stated(workload, name)
        if measured is None or limit is None or within(measured, limit):
            continue
        words.append(f"{name} {measured:g} is above the workload's {limit:g}")
        numbers += [(name, measured), (f"workload_{name}", limit)]
        excess = max(excess, measured / limit if limit > 0 else math.inf)
    if not words:
        return None
    return Miss(RejectionCode.LATENCY_ABOVE_SLO, "measured " + " and ".join(words), tuple(numbers), excess)


def missing_statements(row: GoodputRow, workload: Workload) -> tuple[str, ...]:
    """Those of CONDITIONS that the row states and the workload does not."""
    return tuple(name for name in CONDITIONS if stated(workload, name) is None and stated(row, name) is not None)


def missing_miss(row: GoodputRow, workload: Workload) -> Miss | None:
    """SHAPE_MISSING or SLO_MISSING where the workload is silent on what the row was measured at.

    SHAPE_MISSING too where prefill was measured apart (input_tps) and nothing tells how many input tokens come with the output.
    """
    names = missing_statements(row, workload)
    numbers = tuple((name, stated(row, name) or 0.0) for name in names)
    at = ", ".join(f"{name} {value:g}" for name, value in numbers)
    if any(name in SHAPE for name in names):
        reason = f"measured at {at}, and the workload does not state them"
        return Miss(RejectionCode.SHAPE_MISSING, reason, numbers, float(len(names)))
    if names:
        return Miss(RejectionCode.SLO_MISSING, f"measured at {at}, and the workload states no limit", numbers, float(len(names)))
    if row.input_tps is not None and not input_rate_known(workload):
        return Miss(
            RejectionCode.SHAPE_MISSING,
            f"prefill was measured apart ({row.input_tps:g} input tok/s), and the workload has neither input tok/s nor a shape",
            (("input_tps", row.input_tps),),
        )
    return None


def input_rate_known(workload: Workload) -> bool:
    """True where input tokens per output token are known in every hour, from the forecast or the request shape."""
    if workload.input_tokens is not None and workload.output_tokens:
        return True
    return all(day.input_tps is not None for day in workload.demand)


def concurrency_miss(row: GoodputRow) -> Miss | None:
    """GOODPUT_ABOVE_CONCURRENCY where `output_tps` is more than concurrency / TPOT, both known.

    A sequence yields a token per TPOT, so concurrency / mean TPOT bounds the goodput (CONCURRENCY_TOLERANCE, TAIL_OVER_MEAN).
    A concurrency of 1 is what an empty cell means, so it is not known.
    """
    if not row.tpot_ms or row.concurrency == UNSTATED_CONCURRENCY:
        return None
    bound_tps = row.concurrency * MS_PER_S / row.tpot_ms
    allowed = bound_tps * TAIL_OVER_MEAN.get(row.latency_stat, 1.0) * (1.0 + CONCURRENCY_TOLERANCE)
    if row.output_tps <= allowed:
        return None
    return Miss(
        RejectionCode.GOODPUT_ABOVE_CONCURRENCY,
        f"{row.output_tps:g} output tok/s from {row.concurrency:g} sequences means a TPOT of "
        f"{row.concurrency * MS_PER_S / row.output_tps:.3g} ms, and the row states {row.tpot_ms:g} ms, "
        f"which gives {bound_tps:,.0f} tok/s",
        (("output_tps", row.output_tps), ("concurrency", row.concurrency), ("tpot_ms", row.tpot_ms), ("bound_tps", bound_tps)),
        row.output_tps / bound_tps if bound_tps > 0 else math.inf,
    )


def within(measured: float, limit: float) -> bool:
    """measured <= limit, forgiving a relative 1e-9."""
    return measured <= limit + ROUNDING_HEDGE * max(1.0, abs(limit))


def row_shape(row: GoodputRow, workload: Workload) -> tuple[float | None, float | None]:
    """(input_tokens, output_tokens) of the row, None for one that the workload does not state."""
    return (
        row.input_tokens if workload.input_tokens is not None else None,
        row.output_tokens if workload.output_tokens is not None else None,
    )


def shape_distance(shape: Sequence[float | None], workload: Workload) -> float:
    """|ln(in/in')| + |ln(out/out')| over what is stated; 0 where equal, infinite where just one side is 0."""
    total = 0.0
    for measured, asked in zip(shape, (workload.input_tokens, workload.output_tokens), strict=True):
        if measured is None or asked is None or _same(measured, asked):
            continue
        total += abs(math.log(measured / asked)) if measured > 0 and asked > 0 else math.inf
    return total


def choose_shape(rows: Iterable[GoodputRow], workload: Workload, policy: Policy) -> ShapeChoice | None:
    """The measured shape that stands for the workload's; None where no row has a permitted one.

    strict: an equal shape. nearest: of the shapes whose input/output ratio and whose input + output are at least the workload's,
    the least distance; if there are none, the least distance of all, marked lighter. At equal distance the heavier shape counts.
    """
    shapes = {row_shape(row, workload) for row in rows}
    if not shapes:
        return None
    ranked = sorted(shapes, key=lambda shape: (shape_distance(shape, workload), *(-(tokens or 0.0) for tokens in shape)))
    if policy.shape == "strict":
        return ShapeChoice(shape=ranked[0], distance=0.0, lighter=False) if shape_distance(ranked[0], workload) == 0.0 else None
    heavy = [shape for shape in ranked if _at_least_as_heavy(shape, workload)]
    best = (heavy or ranked)[0]
    return ShapeChoice(shape=best, distance=shape_distance(best, workload), lighter=not heavy)


def shape_miss(row: GoodputRow, workload: Workload, choice: ShapeChoice | None) -> Miss | None:
    """OTHER_SHAPE where the row was not measured at the shape that stands for the workload's."""
    shape = row_shape(row, workload)
    distance = shape_distance(shape, workload)
    if choice is not None and (shape == choice.shape or distance == choice.distance == 0.0):
        return None
    numbers: list[tuple[str, float]] = []
    for name, measured in zip(SHAPE, shape, strict=True):
        asked = stated(workload, name)
        if measured is not None and asked is not None:
            numbers += [(name, measured), (f"workload_{name}", asked)]
    measured_at = " and ".join(f"{name} {value:g}" for name, value in numbers[::2])
    asked_for = " and ".join(f"{value:g}" for _, value in numbers[1::2])
    nearer = "" if choice is None else "; the nearest measured shape is another"
    return Miss(
        RejectionCode.OTHER_SHAPE,
        f"measured at {measured_at}, and the workload has {asked_for}{nearer}",
        (*numbers, ("shape_distance", distance)),
        distance,
    )


def operating_point(rows: Iterable[GoodputRow], ttft_ms: float | None, tpot_ms: float | None) -> GoodputRow | None:
    """The highest measured point of a sweep that meets both limits; None where none does.

    A limit of None does not bind; a row silent on a stated limit does not meet it. The first of equal points is taken. A point is
    taken even where a slower one breaks a limit: what counts is what was measured at it.
    """
    best: GoodputRow | None = None
    for row in rows:
        limits = ((row.ttft_ms, ttft_ms), (row.tpot_ms, tpot_ms))
        if any(limit is not None and (measured is None or not within(measured, limit)) for measured, limit in limits):
            continue
        if best is None or row.output_tps > best.output_tps:
            best = row
    return best


def _at_least_as_heavy(shape: tuple[float | None, float | None], workload: Workload) -> bool:
    pairs = [
        (measured, asked)
        for measured, asked in zip(shape, (workload.input_tokens, workload.output_tokens), strict=True)
        if measured is not None and asked is not None
    ]
    if not within(sum(asked for _, asked in pairs), sum(measured for measured, _ in pairs)):
        return False
    if len(pairs) < len(SHAPE):
        return True
    (measured_in, asked_in), (measured_out, asked_out) = pairs
    # in/out >= in'/out' without dividing by an output of 0.
    return within(asked_in * measured_out, measured_in * asked_out)


def _same(left: float, right: float) -> bool:
    return math.isclose(left, right, rel_tol=ROUNDING_HEDGE)
