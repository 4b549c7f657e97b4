"""GPU offers from SkyPilot and gpuhunt files: node types, medians, and what is left out."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from optimizer.domain.hardware import NodeType
from optimizer.errors import ProblemList, Refused
from optimizer.workbook.catalogs import open_catalogs
from optimizer.workbook.importers.imported import Imported, LeftOut, check_imported
from optimizer.workbook.importers.instances import Instance, NodeTypeFinder, NotResolved
from optimizer.workbook.importers.price_lists import PriceListRequest, import_gpuhunt, import_skypilot
from optimizer.workbook.joining import spellings
from optimizer.workbook.schema import OFFERS

AS_OF = datetime.date(2026, 11, 20)


def node(name: str, gpu: str, gpus: int, memory_gb: float) -> NodeType:
    return NodeType(node_type=name, gpu=gpu, gpus_per_node=gpus, gpu_memory_gb=memory_gb, replica_span_gpus=gpus)


NODES = (
    node("a100-40-x8", "A100 SXM 40GB", 8, 42.95),
    node("a100-80-x8", "A100 SXM 80GB", 8, 85.9),
    node("a100-pcie-x1", "A100 PCIe 80GB", 1, 85.9),
    node("h100-x8", "H100 SXM", 8, 85.9),
    node("h100-x1", "H100 SXM", 1, 85.9),
    node("h100-nvl-x1", "H100 NVL", 1, 94.0),
    node("h200-x8", "H200 SXM", 8, 151.4),
    node("b200-x8", "B200 SXM", 8, 192.27),
    node("l4-x1", "L4", 1, 25.77),
    node("l40s-x1", "L40S", 1, 48.31),
)
GPUS = spellings((each.gpu for each in NODES), {"b200": "b200sxm"})


def finder(**said: str) -> NodeTypeFinder:
    return NodeTypeFinder(NODES, GPUS, said)


def gib(size: float) -> tuple[float, ...]:
    return (size * 2**30 / 1e9,)


@pytest.mark.parametrize(
    ("name", "gpu", "gpus", "memory", "expected"),
    [
        ("p5.48xlarge", "H100", 8, gib(80), "h100-x8"),
        ("p4d.24xlarge", "A100", 8, gib(40), "a100-40-x8"),
        ("p4de.24xlarge", "A100-80GB", 8, gib(80), "a100-80-x8"),
        ("p5en.48xlarge", "H200", 8, gib(141), "h200-x8"),
        ("Standard_NC24ads_A100_v4", "A100-80GB", 1, gib(80), "a100-pcie-x1"),
        ("Standard_NC40ads_H100_v5", "H100", 1, (94.0, 100.9), "h100-nvl-x1"),
        ("g6.xlarge", "L4", 1, (24.0,), "l4-x1"),
        ("gpu-h100-sxm_8gpu-128vcpu-1600gb", "H100", 8, gib(80), "h100-x8"),
        ("gpu_8x_a100_80gb_sxm4", "A100-80GB", 8, gib(80), "a100-80-x8"),
        ("gpu_8x_b200", "B200", 8, (180.0, 193.3), "b200-x8"),
        ("some", "H100-SXM", 8, (), "h100-x8"),
    ],
)
def test_node_types_that_are_certain(name: str, gpu: str, gpus: float, memory: tuple[float, ...], expected: str) -> None:
    assert finder().find(Instance(name, gpu, gpus, memory)).node_type == expected


@pytest.mark.parametrize(
    ("name", "gpu", "gpus", "memory", "words"),
    [
        ("gpu_8x_h100", "H100", 8, gib(80), "form factor not stated"),
        ("gpu_1x_h100_pcie", "H100", 1, gib(80), "H100 PCIE: not a GPU of the catalogs"),
        ("g6f.large", "L4", 0.25, gib(24), "share of a GPU"),
        ("gpu_8x_v100", "V100", 8, gib(16), "not a GPU of the catalogs"),
        ("g6.48xlarge", "L4", 4, (24.0,), "no such node type"),
        ("Standard_NC40ads_H100_v5", "H100", 1, gib(80), "memory stated as 85.9 GB, and h100-nvl-x1 has 94 GB"),
        ("p5.48xlarge", "A100", 8, gib(40), "form factor not stated"),
    ],
)
def test_node_types_that_stay_open(name: str, gpu: str, gpus: float, memory: tuple[float, ...], words: str) -> None:
    with pytest.raises(NotResolved, match=words):
        finder().find(Instance(name, gpu, gpus, memory))


def test_the_user_can_say_which_gpu_is_meant() -> None:
    assert finder(h100="H100 SXM").find(Instance("gpu_8x", "H100", 8, gib(80))).node_type == "h100-x8"
    with pytest.raises(NotResolved, match="memory"):
        finder(h100="H200 SXM").find(Instance("gpu_8x", "H100", 8, gib(80)))


SKY = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region,AvailabilityZone\n"
INFO = "\"{'Gpus': [{'Name': 'H100', 'Manufacturer': 'NVIDIA', 'Count': 8, 'MemoryInfo': {'SizeInMiB': 81920}}]}\""


def skypilot(folder: Path, lines: str, header: str = SKY, **request: Any) -> Imported:
    path = folder / "vms.csv"
    path.write_text(header + lines, encoding="utf-8")
    asked = PriceListRequest(**{"as_of": AS_OF, "provider": "AWS", **request})
    return import_skypilot(path, finder(), asked)


def test_skypilot_zones_become_one_offer_at_the_median(tmp_path: Path) -> None:
    found = skypilot(
        tmp_path,
        f"p5.48xlarge,H100,8.0,192.0,2048.0,{INFO},55.04,20,us-east-1,use1-az1\n"
        f"p5.48xlarge,H100,8.0,192.0,2048.0,{INFO},55.04,26,us-east-1,use1-az2\n"
        f"p5.48xlarge,H100,8.0,192.0,2048.0,{INFO},55.04,24,us-east-1,use1-az3\n"
        f"p5.48xlarge,H100,8.0,192.0,2048.0,{INFO},68.8,,eu-north-1,eun1-az1\n"
        "m5.large,,,2.0,8.0,,0.096,0.04,us-east-1,use1-az1\n",
        version="2c3d7ea",
    )
    rows = {row["offer"]: row for row in found.rows}
    assert list(rows) == [
        "aws-p5.48xlarge-us-east-1-on_demand", "aws-p5.48xlarge-us-east-1-spot", "aws-p5.48xlarge-eu-north-1-on_demand",
    ]
    spot = rows["aws-p5.48xlarge-us-east-1-spot"]
    assert (spot["used_usd_per_node_h"], spot["node_type"], spot["purchase"]) == ("24", "h100-x8", "spot")
    assert spot["evidence"] == "SkyPilot catalog, spot price of the instance; median of 3 zones, 20 to 26"
    assert rows["aws-p5.48xlarge-us-east-1-on_demand"]["evidence"].endswith("the same in 3 zones")
    assert spot["source"].startswith("SkyPilot catalog vms.csv, 2c3d7ea, SHA-256 ")
    assert spot["as_of"] == "2026-11-20"
    assert found.left_out.by_reason == {}


def test_a_gpu_apart_from_its_machine_is_no_offer(tmp_path: Path) -> None:
    found = skypilot(
        tmp_path,
        "a3-highgpu-8g,,,208.0,1872.0,,9.46,5.16,us-central1,us-central1-a\n"
        f",H100,8.0,,,{INFO},78.4,30,us-central1,us-central1-a\n",
        provider="GCP",
    )
    assert found.rows == ()
    assert found.left_out.by_reason == {"a GPU listed apart from its machine: not the price of a node": ["no machine (H100 x 8)"]}


def test_regions_gpus_and_cheapest_narrow_the_rows(tmp_path: Path) -> None:
    lines = (
        "g6.xlarge,L4,1,4,16,,0.8,0.3,us-east-1,a\n"
        "g6.2xlarge,L4,1,8,32,,0.98,0.25,us-east-1,a\n"
        "g6.xlarge,L4,1,4,16,,0.9,,eu-west-1,a\n"
        f"p5.48xlarge,H100,8,192,2048,{INFO},55,,us-east-1,a\n"
    )
    all_rows = skypilot(tmp_path, lines)
    assert len(all_rows.rows) == 6
    east = skypilot(tmp_path, lines, regions=("US-East-1",), gpus=("L4",), cheapest=True)
    assert [(row["offer"], row["used_usd_per_node_h"]) for row in east.rows] == [
        ("aws-g6.xlarge-us-east-1-on_demand", "0.8"), ("aws-g6.2xlarge-us-east-1-spot", "0.25"),
    ]
    assert len(next(iter(east.left_out.by_reason.values()))) == 2


@pytest.mark.parametrize("info", ["", INFO.replace("81920", "0"), "nothing to read", "{'Gpus': []}"])
def test_memory_that_is_not_stated_is_not_compared(info: str, tmp_path: Path) -> None:
    found = skypilot(tmp_path, f"gpu-h100-sxm_8gpu,H100,8,128,1600,{info},23.6,10,eu-north1,\n", provider="Nebius")
    assert [row["node_type"] for row in found.rows] == ["h100-x8", "h100-x8"]


HUNT = "instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor,flags\n"


def gpuhunt(folder: Path, lines: str, header: str = HUNT, **request: Any) -> Imported:
    path = folder / "nebius.csv"
    path.write_text(header + lines, encoding="utf-8")
    return import_gpuhunt(path, finder(), PriceListRequest(**{"as_of": AS_OF, "provider": "Nebius", **request}))


def test_gpuhunt_lines_become_offers(tmp_path: Path) -> None:
    found = gpuhunt(
        tmp_path,
        "gpu-h200-sxm 8gpu,eu-north1,28.0,128,1600,8,H200,141.0,False,,nvidia,\n"
        "gpu-h200-sxm 8gpu,eu-north1,11.6,128,1600,8,H200,141.0,True,,nvidia,preview\n"
        "gpu-h200-sxm 8gpu,eu-north1,12.6,128,1600,8,H200,141.0,True,,nvidia,preview\n"
        "cpu-d3,eu-north1,0.1,4,16,0,,,False,,,\n"
        "gpu-h100,eu-north1,23.6,128,1600,8,H100,80.0,False,,nvidia,\n",
    )
    assert [(row["offer"], row["used_usd_per_node_h"], row["node_type"]) for row in found.rows] == [
        ("nebius-gpu-h200-sxm-8gpu-eu-north1-on_demand", "28", "h200-x8"),
        ("nebius-gpu-h200-sxm-8gpu-eu-north1-spot", "12.1", "h200-x8"),
    ]
    assert found.rows[1]["evidence"].endswith("median of 2 lines, 11.6 to 12.6")
    assert found.rows[1]["note"] == "listed as H200 x 8; flags: preview"
    ((reason, names),) = found.left_out.by_reason.items()
    assert "form factor not stated" in reason
    assert names == ["gpu-h100 (H100 x 8)"]


def test_a_provider_column_names_the_seller(tmp_path: Path) -> None:
    header = HUNT.strip() + ",provider\n"
    line = "p5.48xlarge,us-east-1,55.04,192,2048,8,H100,80.0,False,,nvidia,,aws\n"
    assert gpuhunt(tmp_path, line, header, provider=None).rows[0]["provider"] == "aws"
    with pytest.raises(Refused) as refused:
        gpuhunt(tmp_path, "", provider=None)
    assert [problem.code for problem in refused.value.errors] == ["PROVIDER_MISSING"]


@pytest.mark.parametrize("price", ["", "0"])
def test_a_line_without_a_price_is_left_out(price: str, tmp_path: Path) -> None:
    found = skypilot(tmp_path, f"p5.48xlarge,H100,8,192,2048,{INFO},{price},,us-east-1,a\n")
    assert found.rows == ()
    assert found.left_out.by_reason == {"no price": ["p5.48xlarge (H100 x 8) in us-east-1"]}


@pytest.mark.parametrize("price", ["nan", "-3", "1,5", "inf", "$3"])
def test_a_price_that_is_no_number_is_refused_with_its_line(price: str, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        skypilot(tmp_path, f"p5.48xlarge,H100,8,192,2048,{INFO},\"{price}\",,us-east-1,a\n")
    assert [(problem.code, problem.cell) for problem in refused.value.errors] == [("NOT_A_NUMBER", "A2")]


def test_imported_rows_pass_the_checks_of_the_catalogs(tmp_path: Path) -> None:
    (tmp_path / "node_types.csv").write_text(
        "node_type,gpu,gpus_per_node,gpu_memory_gb,source,as_of\nh100-x8,H100 SXM,8,85.9,vendor,2026-11-01\n", encoding="utf-8"
    )
    (tmp_path / "offers.csv").write_text(
        "offer,node_type,purchase,used_usd_per_node_h,source,as_of\nold,h100-x8,on_demand,9,list,2026-11-01\n", encoding="utf-8"
    )
    sound = {
        "offer": "new", "node_type": "h100-x8", "purchase": "on_demand", "used_usd_per_node_h": "8", "source": "list",
        "as_of": "2026-11-01",
    }
    rows = (
        sound, {**sound, "offer": "old"}, {**sound, "offer": "other", "node_type": "h300-x8"},
        {**sound, "offer": "bare", "source": ""}, sound, {**sound, "offer": "aged", "as_of": "2026-01-01"},
    )
    catalogs = open_catalogs(str(tmp_path), ProblemList())
    found = check_imported(Imported(OFFERS, rows, LeftOut(), "list.csv"), catalogs, AS_OF, 90)
    assert [(problem.code, problem.cell) for problem in found.errors] == [
        ("DUPLICATE_KEY", "A6"), ("UNKNOWN_NAME", "B4"), ("MISSING_SOURCE", "R5"),
    ]
    assert [(problem.code, problem.cell) for problem in found.warnings] == [("PRICE_STALE", "S7"), ("ALREADY_IN_CATALOG", "A3")]


def test_files_that_are_no_price_list_are_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused) as wrong:
        skypilot(tmp_path, "", header=HUNT)
    assert [problem.code for problem in wrong.value.errors] == ["MISSING_COLUMN"]
    with pytest.raises(Refused) as absent:
        import_gpuhunt(tmp_path / "nowhere.csv", finder(), PriceListRequest(as_of=AS_OF, provider="x"))
    assert [problem.code for problem in absent.value.errors] == ["FILE_NOT_FOUND"]
    (tmp_path / "utf16.csv").write_text(HUNT, encoding="utf-16")
    with pytest.raises(Refused) as binary:
        import_gpuhunt(tmp_path / "utf16.csv", finder(), PriceListRequest(as_of=AS_OF, provider="x"))
    assert [problem.code for problem in binary.value.errors] == ["WRONG_FORMAT"]
