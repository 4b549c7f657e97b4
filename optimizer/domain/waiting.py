"""How busy a pool may be so that requests seldom wait: the M/M/c queue, by the number of live replicas.

With c replicas, each busy a share rho of the time (a = c x rho Erlang of work), a request waits longer than half a mean service
with probability ErlangC(c, a) x exp(-(c - a) / 2). One pool of 16 may be busier than four of 4: that is what pooling is worth.
Source: Erlang C (A. K. Erlang, 1917), with the wait measured in mean services so that no service time needs to be known.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp

#: Services that a request may wait before it counts as waiting (`wait_prob_max_frac`).
WAIT_IN_SERVICES = 0.5
#: Terms of the sum below this share of it change no digit of it.
_NOTHING = 1e-18
#: Halvings after which an occupancy between 0 and 1 is exact to the last digit.
_HALVINGS = 60


def wait_prob(live: int, busy_frac: float) -> float:
    """Probability that a request waits longer than half a mean service where `live` replicas are busy that share of the time.

    1 where they are busy all the time, or where there are none.
    """
    if live < 1 or busy_frac >= 1.0:
        return 1.0
    if busy_frac <= 0.0:
        return 0.0
    work = live * busy_frac
    # ErlangC = 1 / (1 + (1 - rho) x sum over j < c of c! / (j! a^(c - j))), from the largest j down; later terms only shrink.
    term = total = live / work
    for j in range(live - 1, 0, -1):
        term *= j / work
        total += term
        if j < work and term < _NOTHING * total:
            break
    return exp(-WAIT_IN_SERVICES * (live - work)) / (1.0 + (1.0 - busy_frac) * total)


@lru_cache(maxsize=65_536)
def occupancy_for(live: int, wait_prob_max_frac: float) -> float:
    """The largest share of the time that `live` replicas may be busy with wait_prob <= wait_prob_max_frac; 0 without a replica.

    It never falls as `live` grows. A limit of 1 allows 1; a limit so small that no share keeps it gives 0.
    """
    if live < 1:
        return 0.0
    if wait_prob_max_frac >= 1.0:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if wait_prob(live, middle) <= wait_prob_max_frac:
            low = middle
        else:
            high = middle
    return low
