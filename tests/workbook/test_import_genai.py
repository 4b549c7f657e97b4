"""API prices of genai-prices as rows: windows, tiers, dates, names, and what is left out."""

from __future__ import annotations

import csv
import datetime
import io
import sys
from decimal import Decimal
from typing import Any

import pytest
from genai_prices.types import (
    ClauseEquals,
    ConditionalPrice,
    ModelInfo,
    ModelPrice,
    Provider,
    StartDateConstraint,
    Tier,
    TieredPrices,
    TimeOfDateConstraint,
)

from optimizer.domain.hours import parse_hours
from optimizer.errors import Refused
from optimizer.workbook.importers.genai import GenaiRequest, import_genai_prices, shipped_data
from optimizer.workbook.importers.imported import Imported
from optimizer.workbook.joining import spellings

TODAY = datetime.date(2026, 11, 29)
KNOWN = spellings(["M-1", "M-2"], {"m1instruct": "m1"})


def price(input_usd: str, output_usd: str, cached: str | None = None, **more: Any) -> ModelPrice:
    cached_price = {} if cached is None else {"cache_read_mtok": Decimal(cached)}
    return ModelPrice(input_mtok=Decimal(input_usd), output_mtok=Decimal(output_usd), **cached_price, **more)


def sold(model: str, prices: Any, **more: Any) -> ModelInfo:
    return ModelInfo(id=model, match=ClauseEquals(equals=model), prices=prices, **more)


def between(start: datetime.time, end: datetime.time) -> TimeOfDateConstraint:
    return TimeOfDateConstraint(start.replace(tzinfo=datetime.UTC), end.replace(tzinfo=datetime.UTC))


def shop(*models: ModelInfo, name: str = "shop") -> Provider:
    return Provider(id=name, name=name.title(), api_pattern="", pricing_urls=["https://shop.example/prices"], models=list(models))


def imported(*models: ModelInfo, **request: Any) -> Imported:
    asked = GenaiRequest(**{"today": TODAY, "as_of": datetime.date(2026, 11, 1), **request})
    return import_genai_prices([shop(*models)], "9.9.9", KNOWN, asked)


def reasons(found: Imported) -> dict[str, list[str]]:
    return found.left_out.by_reason


def test_a_plain_price_becomes_a_row_with_source_version_and_date() -> None:
    found = imported(sold("maker/m-1-instruct", price("0.3", "1.2", "0.03"), name="M One"))
    assert [dict(row) for row in found.rows] == [
        {
            "api": "shop-maker-m-1-instruct", "model": "M-1", "output_usd_per_mtok": "1.2", "input_usd_per_mtok": "0.3",
            "cached_input_usd_per_mtok": "0.03", "hours": "", "provider": "Shop",
            "source": "genai-prices 9.9.9; provider page https://shop.example/prices", "as_of": "2026-11-01", "label": "M One",
            "note": "sold as maker/m-1-instruct",
        }
    ]
    rows = list(csv.DictReader(io.StringIO(found.csv_text())))
    assert rows[0]["api"] == "shop-maker-m-1-instruct"
    assert rows[0]["max_rpm"] == ""


def test_windows_become_rows_of_utc_hours_that_cover_the_day_once() -> None:
    peak = price("0.4", "2", "0.02")
    windows = [
        ConditionalPrice(prices=price("0.2", "1", "0.01")),
        ConditionalPrice(constraint=between(datetime.time(1), datetime.time(4)), prices=peak),
        ConditionalPrice(constraint=between(datetime.time(22), datetime.time(0)), prices=peak),
    ]
    cheap, dear = imported(sold("m-1", windows)).rows
    assert (cheap["api"], cheap["hours"], cheap["output_usd_per_mtok"]) == ("shop-m-1-offpeak", "0-1Z;4-22Z", "1")
    assert (dear["api"], dear["hours"], dear["cached_input_usd_per_mtok"]) == ("shop-m-1-peak", "1-4Z;22-24Z", "0.02")
    hours = [parse_hours(row["hours"], -8) for row in (cheap, dear)]
    assert len(hours[0]) + len(hours[1]) == 24 and hours[0] | hours[1] == frozenset(range(24))
    assert 17 in hours[1]


def test_the_price_of_the_day_counts_and_a_coming_one_is_noted() -> None:
    dated = [
        ConditionalPrice(prices=price("3", "9")),
        ConditionalPrice(constraint=StartDateConstraint(datetime.date(2026, 8, 1)), prices=price("2", "6")),
        ConditionalPrice(constraint=StartDateConstraint(datetime.date(2027, 1, 1)), prices=price("4", "12")),
    ]
    (row,) = imported(sold("m-1", dated)).rows
    assert row["output_usd_per_mtok"] == "6"
    assert "changes on 2027-01-01" in row["note"]
    (later,) = imported(sold("m-1", dated), today=datetime.date(2027, 1, 1)).rows
    assert later["output_usd_per_mtok"] == "12"


def test_without_a_date_the_newest_past_change_dates_the_rows() -> None:
    dated = [
        ConditionalPrice(prices=price("3", "9")),
        ConditionalPrice(constraint=StartDateConstraint(datetime.date(2026, 8, 1)), prices=price("2", "6")),
        ConditionalPrice(constraint=StartDateConstraint(datetime.date(2027, 1, 1)), prices=price("4", "12")),
    ]
    rows = imported(sold("m-1", dated), sold("m-2", price("1", "1")), as_of=None).rows
    assert {row["as_of"] for row in rows} == {"2026-08-01"}
    assert all("newest price change" in row["note"] for row in rows)
    with pytest.raises(Refused) as refused:
        imported(sold("m-1", price("1", "1")), as_of=None)
    assert [problem.code for problem in refused.value.errors] == ["DATE_MISSING"]


def test_tiers_are_left_out_or_kept_at_their_base_with_a_note() -> None:
    tiered = ModelPrice(
        input_mtok=TieredPrices(base=Decimal("0.5"), tiers=[Tier(start=272000, price=Decimal("1"))]),
        output_mtok=TieredPrices(base=Decimal("2"), tiers=[Tier(start=272000, price=Decimal("3"))]),
    )
    refused = imported(sold("m-1", tiered))
    assert refused.rows == ()
    assert any("prompt's length" in reason and names == ["shop/m-1"] for reason, names in reasons(refused).items())
    (row,) = imported(sold("m-1", tiered), keep_base_tier=True).rows
    assert (row["input_usd_per_mtok"], row["output_usd_per_mtok"]) == ("0.5", "2")
    assert "base tier only: input 1 above 272000 input tokens, output 3 above 272000 input tokens" in row["note"]


@pytest.mark.parametrize(
    ("info", "words"),
    [
        (sold("m-1", ModelPrice(input_mtok=Decimal(1))), "no price of output tokens"),
        (sold("m-1", ModelPrice(output_mtok=Decimal(1))), "no price of input tokens"),
        (sold("m-1", price("0", "0")), "free tier"),
        (sold("m-1", price("1", "1", requests_kcount=Decimal(5))), "fee for each request"),
        (sold("m-1", price("1", "2", output_reasoning_mtok=Decimal(3))), "reasoning"),
        (sold("m-1", price("1", "1"), deprecated=True), "deprecated"),
        (sold("other", price("1", "1")), "catalogs do not have"),
        (
            sold("m-1", [
                ConditionalPrice(prices=price("1", "1")),
                ConditionalPrice(constraint=between(datetime.time(0, 30), datetime.time(16, 30)), prices=price("2", "2")),
            ]),
            "whole hours",
        ),
    ],
)
def test_what_our_table_cannot_say_is_left_out_by_name(info: ModelInfo, words: str) -> None:
    found = imported(info)
    assert found.rows == ()
    ((reason, names),) = reasons(found).items()
    assert words in reason
    assert names == [f"shop/{info.id}"]


def test_what_a_row_does_not_count_is_noted() -> None:
    prices = price("1", "2", cache_write_mtok=Decimal("1.25"))
    (row,) = imported(sold("m-1", prices, price_comments="Weekends are  cheaper.")).rows
    assert "writing to the cache costs 1.25 $/Mtok, which is not counted" in row["note"]
    assert row["note"].endswith("Weekends are cheaper.")


def test_routers_only_when_asked_for() -> None:
    providers = [shop(sold("m-1", price("1", "1"))), shop(sold("m-1", price("1", "1")), name="openrouter")]
    request = GenaiRequest(today=TODAY, as_of=TODAY)
    found = import_genai_prices(providers, "9", KNOWN, request)
    assert [row["provider"] for row in found.rows] == ["Shop"]
    assert ["openrouter"] in reasons(found).values()
    asked = import_genai_prices(providers, "9", KNOWN, GenaiRequest(today=TODAY, as_of=TODAY, providers=("OpenRouter",)))
    assert [row["provider"] for row in asked.rows] == ["Openrouter"]


def test_models_can_be_asked_for_in_and_outside_the_catalogs() -> None:
    models = (sold("m-1", price("1", "1")), sold("m-2", price("1", "1")), sold("maker/new-9", price("1", "1")))
    assert [row["model"] for row in imported(*models, models=("m 1", "New 9")).rows] == ["M-1", "New 9"]
    with pytest.raises(Refused) as refused:
        imported(*models, models=("m-3",))
    assert [problem.code for problem in refused.value.errors] == ["UNKNOWN_NAME"]
    with pytest.raises(Refused) as unknown:
        imported(*models, providers=("shopp",))
    assert "Did you mean 'shop'?" in unknown.value.errors[0].fix


def test_ids_that_collide_are_told_apart() -> None:
    rows = imported(sold("maker/m-1", price("1", "1")), sold("maker-m-1", price("2", "2"), name="M-1")).rows
    assert [row["api"] for row in rows] == ["shop-maker-m-1", "shop-maker-m-1-2"]


def test_the_installed_package_is_read_and_its_absence_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    providers, version = shipped_data()
    assert len(providers) > 10 and version
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    with pytest.raises(Refused) as refused:
        shipped_data()
    (problem,) = refused.value.errors
    assert problem.code == "PACKAGE_MISSING"
    assert "pip install 'fleetsheet[import]'" in problem.fix
