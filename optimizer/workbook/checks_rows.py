"""Rules that one row must keep on its own: figures that need each other or contradict each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from optimizer.domain.market import HELD
from optimizer.domain.workload import Pool
from optimizer.errors import ProblemList
from optimizer.workbook.inputs import Inputs, key_part
from optimizer.workbook.rows import TableRow, TableRows
from optimizer.workbook.schema import API_PRICES, DISCOUNTS, GOODPUT, MODELS, NODE_TYPES, OFFERS, POOLS, SITES


def check_rows(inputs: Inputs, problems: ProblemList) -> None:
    """Every row rule of every table; each problem names the cell to change."""
    check_rows_alone(inputs.tables, problems)


def check_rows_alone(tables: Mapping[str, TableRows], problems: ProblemList) -> None:
    """`check_rows` on tables by sheet name."""
    rules: list[tuple[str, Callable[[TableRow, ProblemList], None]]] = [
        (POOLS.sheet, _pool),
        (NODE_TYPES.sheet, _node_type),
        (MODELS.sheet, _model),
        (GOODPUT.sheet, _goodput),
        (OFFERS.sheet, _offer),
        (API_PRICES.sheet, _api),
        (SITES.sheet, _site),
    ]
    for sheet, rule in rules:
        for row in tables[sheet].rows if sheet in tables else ():
            rule(row, problems)


def check_provenance(inputs: Inputs, problems: ProblemList) -> None:
    """A catalog row without source or date is refused; of a sheet without them one warning tells how many rows they are."""
    for found in inputs.tables.values():
        if not found.table.provenance:
            continue
        for key, code, what in (("source", "MISSING_SOURCE", "no source"), ("as_of", "MISSING_DATE", "no date (as_of)")):
            silent = [row for row in found.rows if key not in row.stated and key not in row.bad]
            for row in silent:
                if row.catalog:
                    fix = "Every row of a catalog states source and as_of."
                    problems.error(code, f"This row of the catalog has {what}.", fix, **row.place(key))
            own = [row for row in silent if not row.catalog]
            if own:
                problems.warn(code, f"{len(own)} of {len(found.rows)} rows of {found.table.sheet} state {what}.",
                              "State where each figure comes from, and when.", file=own[0].file, sheet=found.table.sheet)


def check_same_conditions(inputs: Inputs, problems: ProblemList) -> None:
    """Warns of measurements that differ under the same conditions: the highest counts, which may not be what was meant."""
    own = [row for row in inputs.of(GOODPUT).rows if not row.catalog and not row.bad]
    conditions = [key for key in GOODPUT.key_columns if key not in ("output_tps", "input_tps")]
    groups: dict[tuple[object, ...], list[TableRow]] = {}
    for row in own:
        groups.setdefault(tuple(key_part(inputs, key, row[key]) for key in conditions), []).append(row)
    repeated = [rows for rows in groups.values() if len(rows) > 1]
    if repeated:
        figures = " and ".join(f"{row['output_tps']:g}" for row in repeated[0])
        problems.warn("SAME_CONDITIONS", f"Rows of Goodput state several figures for the same conditions ({figures} tok/s here; "
                      f"{len(repeated)} such groups); the highest counts.", "Keep the figure you trust.",
                      **repeated[0][1].place("output_tps"))


def check_commitments(inputs: Inputs, problems: ProblemList) -> None:
    """The rows of a discount state one commitment: DISCOUNT_ROWS_DIFFER where two of them state its limits or term differently.

    MIN_OVER_MAX where no commitment could keep the limits. A limit stated in one row holds for the discount.
    """
    by_discount: dict[str, list[TableRow]] = {}
    for row in inputs.of(DISCOUNTS).rows:
        if row["discount"] is not None:
            by_discount.setdefault(row["discount"], []).append(row)
    for name, rows in by_discount.items():
        first: dict[str, TableRow] = {}
        for key in ("min_commit_usd_per_h", "max_commit_usd_per_h", "term_months"):
            stating = [row for row in rows if key in row.stated and key not in row.bad]
            if stating:
                first[key] = stating[0]
            for other in stating[1:]:
                if other[key] != stating[0][key]:
                    problems.error("DISCOUNT_ROWS_DIFFER", f"Discount {name} has {key} {stating[0][key]:g} in another row, and "
                                   f"{other[key]:g} here; it is one commitment.",
                                   "State it in one row of the discount, or the same in all.", **other.place(key))
        low, high = first.get("min_commit_usd_per_h"), first.get("max_commit_usd_per_h")
        if low is None or high is None:
            continue
        least, most = low["min_commit_usd_per_h"], high["max_commit_usd_per_h"]
        if least > most:
            problems.error("MIN_OVER_MAX", f"min_commit_usd_per_h {least:g} of discount {name} is more than max_commit_usd_per_h "
                           f"{most:g}.", "Correct one of them.", **low.place("min_commit_usd_per_h"))


#: Below this next to nothing may be planned on a replica that is alone (occupancy is about 1.65 times it), and figures drown.
_LEAST_WAIT_PROB = 1e-6
_WAIT_PROB_DEFAULT: float = Pool.model_fields["wait_prob_max_frac"].default


def _pool(row: TableRow, problems: ProblemList) -> None:
    """A standing quota needs both its nodes and their type; 0 nodes of a type are a statement too. Waiting goes with `auto`."""
    waiting = row["wait_prob_max_frac"]
    if not row.bad & {"occupancy_frac", "wait_prob_max_frac"} and waiting is not None:
        if row["occupancy_frac"] is not None and "wait_prob_max_frac" in row.stated and waiting != _WAIT_PROB_DEFAULT:
            problems.warn("WAIT_PROB_UNUSED", f"wait_prob_max_frac {waiting:g} is only used where occupancy_frac is auto.",
                          "Write auto in occupancy_frac, or empty wait_prob_max_frac.", **row.place("wait_prob_max_frac"))
        if row["occupancy_frac"] is None and waiting < _LEAST_WAIT_PROB:
            problems.error("WAIT_PROB_TOO_SMALL",
                           f"With wait_prob_max_frac {waiting:g} a replica may be busy next to none of the time.",
                           f"Enter {_LEAST_WAIT_PROB:g} or more, for example {_WAIT_PROB_DEFAULT:g}.",
                           **row.place("wait_prob_max_frac"))
    if row["fixed_nodes"] and row["fixed_node_type"] is None and "fixed_node_type" not in row.bad:
        problems.error("FIXED_NODE_TYPE_MISSING", f"fixed_nodes is {row['fixed_nodes']}, and fixed_node_type is empty.",
                       "State the node type of the standing quota, or empty fixed_nodes.", **row.place("fixed_node_type"))
    if row["fixed_node_type"] is not None and "fixed_nodes" not in row.stated | row.bad:
        problems.error("FIXED_NODES_MISSING", f"fixed_node_type is {row['fixed_node_type']}, and fixed_nodes is empty.",
                       "State how many nodes the standing quota has, or empty fixed_node_type.", **row.place("fixed_nodes"))


def _node_type(row: TableRow, problems: ProblemList) -> None:
    span, size = row["replica_span_gpus"], row["gpus_per_node"]
    if span is not None and size is not None and span < size:
        problems.error("SPAN_UNDER_NODE", f"replica_span_gpus {span} is less than the {size} GPUs of one node.",
                       "Empty the cell where replicas do not span nodes.", **row.place("replica_span_gpus"))


def _model(row: TableRow, problems: ProblemList) -> None:
    if row["weights_gb"] is None and not row.bad & {"weights_gb", "total_params_b", "bytes_per_param"}:
        missing = [key for key in ("total_params_b", "bytes_per_param") if row[key] is None]
        if missing:
            problems.error("WEIGHTS_MISSING", "Neither weights_gb nor total_params_b and bytes_per_param are stated.",
                           "State weights_gb, or both of the others.", **row.place("weights_gb"))
    cache = ("kv_gb_per_seq", "kv_bytes_per_token")
    if all(row[key] is None for key in cache) and not row.bad & set(cache):
        problems.error("KV_MISSING", "Neither kv_gb_per_seq nor kv_bytes_per_token is stated.",
                       "State one of them; 0 where the model keeps none.", **row.place("kv_gb_per_seq"))


def _goodput(row: TableRow, problems: ProblemList) -> None:
    gpus, tp, shares = row["gpus_per_replica"], row["tp"], row["replicas_per_gpu"]
    if gpus is not None and tp is not None and tp > gpus:
        problems.error("TP_OVER_GPUS", f"tp {tp} is more than the {gpus} GPUs of the replica.", "Correct tp or gpus_per_replica.",
                       **row.place("tp"))
    if gpus is not None and shares is not None and shares > 1 and gpus != 1:
        problems.error("SHARE_NEEDS_ONE_GPU",
                       f"replicas_per_gpu {shares} is a share of one GPU, and gpus_per_replica is {gpus}.",
                       "Set gpus_per_replica to 1, or replicas_per_gpu to 1.", **row.place("replicas_per_gpu"))


def _offer(row: TableRow, problems: ProblemList) -> None:
    low, high, purchase = row["min_nodes"], row["max_nodes"], row["purchase"]
    if low is not None and high is not None and low > high:
        problems.error("MIN_OVER_MAX", f"min_nodes {low} is more than max_nodes {high}.", "Correct one of them.",
                       **row.place("min_nodes"))
    if row["upfront_usd_per_node"] and row["term_months"] is None and "term_months" not in row.bad:
        problems.error("TERM_MISSING", "An upfront price is spread over the term, and term_months is empty.",
                       "State term_months.", **row.place("term_months"))
    if purchase is None:
        return
    if purchase in HELD:
        prices = [row[key] for key in ("held_usd_per_node_h", "used_usd_per_node_h", "upfront_usd_per_node")]
        if purchase != "owned" and all(price == 0 for price in prices):
            _warn_free(row, "held_usd_per_node_h", problems)
        return
    for key in ("held_usd_per_node_h", "upfront_usd_per_node"):
        if row[key]:
            problems.error("PRICE_NOT_USED", f"{key} is for owned, reserved and flex offers, and this one is {purchase}.",
                           "Put the hourly price in used_usd_per_node_h, or change purchase.", **row.place(key))
    if row["used_usd_per_node_h"] == 0 and not row["held_usd_per_node_h"]:
        _warn_free(row, "used_usd_per_node_h", problems)


def _warn_free(row: TableRow, key: str, problems: ProblemList) -> None:
    problems.warn("PRICE_ZERO", f"Offer {row['offer']} costs nothing.", "State its price.", **row.place(key))


def _api(row: TableRow, problems: ProblemList) -> None:
    if row["output_usd_per_mtok"] == 0 and row["input_usd_per_mtok"] == 0:
        problems.warn("PRICE_ZERO", f"API {row['api']} costs nothing.", "State its price.", **row.place("output_usd_per_mtok"))


def _site(row: TableRow, problems: ProblemList) -> None:
    stated = (("total_kw", row["total_kw"] is not None), ("usd_per_kwh", bool(row["usd_per_kwh"])))
    needs = [key for key, needed in stated if needed]
    if needs and row["pue"] is None and "pue" not in row.bad:
        problems.error("PUE_MISSING", f"{' and '.join(needs)} count facility power, and pue is empty.",
                       "State pue; 1 where the figures are IT power.", **row.place("pue"))
    sizes = ("kw_per_rack", "slots_per_rack")
    if row["racks"] is not None and all(row[key] is None for key in sizes) and not row.bad & set(sizes):
        problems.error("RACK_SIZE_MISSING", "racks is stated, but neither kw_per_rack nor slots_per_rack.",
                       "State what one rack holds, or empty racks.", **row.place("kw_per_rack"))
