"""From three sheets and the shipped catalogs to a proven plan: dense, sparse with grouped-query and with latent attention."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from optimizer.candidates.codes import RejectionCode
from optimizer.candidates.enumerate import find_candidates
from optimizer.candidates.option import Candidates
from optimizer.domain.case import Case
from optimizer.domain.hours import ALL_DAY
from optimizer.milp.solve import solve_case
from optimizer.plan.audit import audit_decision
from optimizer.workbook.load import load_case
from optimizer.workbook.options import LoadOptions
from tests.helpers.casebook import write_casebook

MODELS = {"dense": "Llama-3.1-70B", "sparse-gqa": "MiniMax-M2.5", "sparse-mla": "DeepSeek-V3"}
GENERATIONS = {"H100 SXM", "H200 SXM", "B200 SXM", "B300 SXM"}
#: A rejection of these codes is about the absence of something; every other one has figures.
WITHOUT_NUMBERS = {RejectionCode.NO_GOODPUT, RejectionCode.NO_NODE_TYPE, RejectionCode.UNUSED_NODE_TYPE,
                   RejectionCode.SPOT_NOT_ALLOWED}


def load(folder: Path, **limits: float) -> Case:
    """Three workloads at 1,024 in and 1,024 out: 9,000 tok/s by day, 3,000 by night. Everything else is from the catalogs."""
    shape = {"input_tokens": 1024, "output_tokens": 1024, "ttft_ms": 2000, "tpot_ms": 50, **limits}
    tables = {
        "Demand": [
            {"workload": name, "hour": hour, "output_tps": 9000 if 8 <= hour < 20 else 3000}
            for name in MODELS
            for hour in sorted(ALL_DAY)
        ],
        "Workloads": [
            {"workload": name, "pool": name, "model": model, "precision": "fp8", **shape} for name, model in MODELS.items()
        ],
        "Pools": [{"pool": name, "kind": "interactive", "occupancy_frac": 0.8} for name in MODELS],
    }
    path = write_casebook(folder / "forecast.xlsx", tables)
    return load_case(path, LoadOptions(today=datetime.date(2026, 11, 29))).case


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return load(tmp_path_factory.mktemp("three"))


@pytest.fixture(scope="module")
def candidates(case: Case) -> Candidates:
    return find_candidates(case)


def test_every_kind_of_attention_is_there(case: Case) -> None:
    models = {model.model: model for model in case.models}
    dense, gqa, mla = (models[name] for name in MODELS.values())
    assert (dense.experts, dense.attention) == (None, "gqa")
    assert gqa.experts and gqa.attention == "gqa"
    assert mla.experts and mla.attention == "mla"


def test_each_model_chooses_among_generations_that_can_be_bought(case: Case, candidates: Candidates) -> None:
    bought = {offer.node_type for offer in candidates.offers}
    gpus = {option.gpu for option in candidates.options if option.node_type in bought}
    assert gpus >= GENERATIONS
    for pool in MODELS:
        assert len({option.gpu for option in candidates.options if option.pool == pool}) >= 3
    for option in candidates.options:
        for point in option.points:
            assert point.fit.fits and point.fit.room_gb >= 0
            assert point.output_tps > 0


def test_every_rejection_has_its_code_reason_and_numbers(candidates: Candidates) -> None:
    assert candidates.rejections
    for rejection in candidates.rejections:
        code = RejectionCode(rejection.code)
        assert rejection.reason.strip().endswith(".")
        assert rejection.numbers or code in WITHOUT_NUMBERS, rejection


def test_what_is_too_slow_or_measured_elsewhere_is_said_with_figures(tmp_path: Path) -> None:
    found = find_candidates(load(tmp_path, tpot_ms=12))
    slow = [rejection for rejection in found.rejections if rejection.code == RejectionCode.LATENCY_ABOVE_SLO]
    assert slow
    assert all(dict(rejection.numbers) for rejection in slow)
    assert any("12" in rejection.reason for rejection in slow)


def test_the_plan_is_proven_and_passes_its_audit(case: Case, candidates: Candidates) -> None:
    outcome = solve_case(case, candidates, gap=0.01)
    assert outcome.status == "optimal"
    assert outcome.decision is not None and outcome.cost_usd_per_day is not None and outcome.bound_usd_per_day is not None
    assert outcome.bound_usd_per_day >= outcome.cost_usd_per_day * (1 - 0.01) - 1e-6
    audit = audit_decision(
        case, candidates, outcome.decision, outcome.cost_usd_per_day, claimed_bound=outcome.bound_usd_per_day
    )
    assert audit.violations == ()
    assert audit.ok
