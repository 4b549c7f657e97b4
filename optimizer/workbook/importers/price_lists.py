"""GPU offers from price lists of the field as CSV files: SkyPilot catalogs and gpuhunt catalogs."""

from __future__ import annotations

import ast
import csv
import datetime
import hashlib
import io
import math
import statistics
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from optimizer.domain.hardware import NodeType
from optimizer.domain.names import join_key
from optimizer.errors import ProblemList
from optimizer.units import BYTES_PER_GB, BYTES_PER_GIB
from optimizer.workbook.importers.imported import Imported, LeftOut, number_text, slug, unique
from optimizer.workbook.importers.instances import Instance, NodeTypeFinder, NotResolved
from optimizer.workbook.schema import OFFERS

_MIB_PER_GIB = 1024
Purchase = Literal["on_demand", "spot"]


@dataclass(frozen=True)
class PriceListRequest:
    """What to import from a price list.

    provider: who sells; None = the file's own column. as_of: date of the list. version: its commit or release, as the user says.
    regions: only these (empty = all). gpus: only these, by name in our tables. cheapest: of several instances of one node type,
    region and purchase type only the cheapest.
    """

    as_of: datetime.date
    provider: str | None = None
    version: str = ""
    regions: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    cheapest: bool = False


@dataclass(frozen=True)
class _Listing:
    """One line of a price list. zone: "" where the list has none. prices: $/h by purchase type."""

    instance: Instance
    provider: str
    region: str
    zone: str
    prices: Mapping[Purchase, float]
    flags: str = ""


@dataclass(frozen=True)
class _Group:
    """Lines of one instance, region and purchase type: they differ by zone alone."""

    node_type: NodeType
    first: _Listing
    purchase: Purchase
    prices: tuple[float, ...]
    zones: int

    @property
    def price(self) -> float:
        return statistics.median(self.prices)


@dataclass(frozen=True)
class _Format:
    """A kind of price list: its name, the columns it must have, and how a line is read."""

    name: str
    columns: tuple[str, ...]
    read: Callable[[Mapping[str, str], str], _Listing | None]


def import_skypilot(path: Path, finder: NodeTypeFinder, request: PriceListRequest) -> Imported:
    """Offers rows from a SkyPilot catalog (`vms.csv` of one cloud). Raises Refused for a file that is none.

    An instance gives an on-demand and, where it is listed, a spot offer per region. GPUs that are listed apart from their machine
    (Google's) are left out: their price is not that of a node.
    """
    return _import(path, SKYPILOT, finder, request)


def import_gpuhunt(path: Path, finder: NodeTypeFinder, request: PriceListRequest) -> Imported:
    """Offers rows from a gpuhunt catalog (one provider per file). Raises Refused for a file that is none."""
    return _import(path, GPUHUNT, finder, request)


def _skypilot_line(cells: Mapping[str, str], provider: str) -> _Listing | None:
    gpu = cells["AcceleratorName"].strip()
    if not gpu:
        return None
    info = cells.get("GpuInfo") or ""
    prices: dict[Purchase, float] = {}
    if cells["Price"].strip():
        prices["on_demand"] = _amount(cells["Price"])
    if (cells.get("SpotPrice") or "").strip():
        prices["spot"] = _amount(cells["SpotPrice"])
    return _Listing(
        instance=Instance(cells["InstanceType"].strip(), gpu, _amount(cells["AcceleratorCount"]), _mib_stated(info)),
        provider=provider,
        region=cells["Region"].strip(),
        zone=(cells.get("AvailabilityZone") or "").strip(),
        prices=prices,
    )


def _mib_stated(info: str) -> tuple[float, ...]:
    """Memory of one GPU in GB from SkyPilot's GpuInfo, a dictionary written as text; empty where it states none, or 0."""
    if not info.strip():
        return ()
    try:
        mib = float(ast.literal_eval(info)["Gpus"][0]["MemoryInfo"]["SizeInMiB"])
    except (ValueError, SyntaxError, TypeError, LookupError):
        return ()
    return (mib / _MIB_PER_GIB * BYTES_PER_GIB / BYTES_PER_GB,) if mib > 0 else ()


def _gpuhunt_line(cells: Mapping[str, str], provider: str) -> _Listing | None:
    gpu = cells["gpu_name"].strip()
    if not gpu or _amount(cells["gpu_count"] or "0") == 0:
        return None
    stated = cells["gpu_memory"].strip()
    # Its "GB" are GiB for some clouds and 10^9 bytes for others; either reading may agree.
    memory = (_amount(stated), _amount(stated) * BYTES_PER_GIB / BYTES_PER_GB) if stated and _amount(stated) else ()
    spot = cells["spot"].strip().casefold() == "true"
    prices: dict[Purchase, float] = {"spot" if spot else "on_demand": _amount(cells["price"])} if cells["price"].strip() else {}
    return _Listing(
        instance=Instance(cells["instance_name"].strip(), gpu, _amount(cells["gpu_count"]), memory),
        provider=(cells.get("provider") or "").strip() or provider,
        region=cells["location"].strip(),
        zone="",
        prices=prices,
        flags=(cells.get("flags") or "").strip(),
    )


SKYPILOT = _Format(
    "SkyPilot catalog", ("InstanceType", "AcceleratorName", "AcceleratorCount", "Price", "Region"), _skypilot_line
)
GPUHUNT = _Format(
    "gpuhunt catalog", ("instance_name", "location", "price", "gpu_count", "gpu_name", "gpu_memory", "spot"), _gpuhunt_line
)


def _amount(text: str) -> float:
    """A number of a machine-written list. Raises ValueError where it is none, negative or not finite."""
    number = float(text)
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{text!r} is not a number of 0 or more")
    return number


def _import(path: Path, kind: _Format, finder: NodeTypeFinder, request: PriceListRequest) -> Imported:
    problems = ProblemList()
    text, digest = _read(path, problems)
    left_out = LeftOut()
    groups = _groups(_listings(text, path, kind, request, problems), finder, request, left_out)
    problems.raise_if_errors()
    if request.cheapest:
        groups = _cheapest(groups, left_out)
    version = f", {request.version}" if request.version else ""
    source = f"{kind.name} {path.name}{version}, SHA-256 {digest[:12]}"
    rows = [_row(group, kind, source, request.as_of) for group in groups]
    ids = unique(slug(group.first.provider, group.first.instance.name, group.first.region, group.purchase) for group in groups)
    return Imported(
        table=OFFERS,
        rows=tuple({"offer": offer, **row} for offer, row in zip(ids, rows, strict=True)),
        left_out=left_out,
        origin=path.name,
    )


def _read(path: Path, problems: ProblemList) -> tuple[str, str]:
    try:
        content = path.read_bytes()
        return content.decode("utf-8-sig"), hashlib.sha256(content).hexdigest()
    except OSError as error:
        problems.error("FILE_NOT_FOUND", f"The file cannot be read: {error.strerror or error}.", "Check the path.",
                       file=str(path))
    except UnicodeDecodeError:
        problems.error("WRONG_FORMAT", "The file is not UTF-8 text.", "Give the CSV file as it was published.", file=str(path))
    problems.raise_if_errors()
    return "", ""


def _listings(
    text: str, path: Path, kind: _Format, request: PriceListRequest, problems: ProblemList
) -> Iterator[_Listing]:
    reader = csv.DictReader(io.StringIO(text))
    header = reader.fieldnames or []
    missing = [column for column in kind.columns if column not in header]
    if missing:
        problems.error("MISSING_COLUMN", f"This is no {kind.name}: it has no column {', '.join(missing)}.",
                       f"A {kind.name} has {', '.join(kind.columns)}.", file=str(path))
        return
    if request.provider is None and "provider" not in header:
        problems.error("PROVIDER_MISSING", "The file does not say who sells.", "Give --provider NAME.", file=str(path))
        return
    for cells in reader:
        try:
            listing = kind.read({key: value or "" for key, value in cells.items() if key is not None}, request.provider or "")
        except ValueError as error:
            problems.error("NOT_A_NUMBER", f"Line {reader.line_num}: {error}.", "Correct the line, or fetch the file again.",
                           file=str(path), cell=f"A{reader.line_num}")
            continue
        if listing is not None:
            yield listing


def _groups(
    listings: Iterator[_Listing], finder: NodeTypeFinder, request: PriceListRequest, left_out: LeftOut
) -> list[_Group]:
    """Lines that differ by zone alone, together; in the order of the file."""
    regions = {region.casefold() for region in request.regions}
    gpus = {join_key(gpu) for gpu in request.gpus}
    verdicts: dict[Instance, NodeType | str] = {}
    found: dict[tuple[str, str, str, Purchase], list[_Listing]] = {}
    for listing in listings:
        instance = listing.instance
        if instance not in verdicts:
            verdicts[instance] = _verdict(finder, instance)
        verdict = verdicts[instance]
        name = f"{instance.name or 'no machine'} ({instance.gpu} x {instance.gpus:g})"
        if isinstance(verdict, str):
            left_out.add(verdict, name)
            continue
        if (regions and listing.region.casefold() not in regions) or (gpus and join_key(verdict.gpu) not in gpus):
            continue
        if not any(listing.prices.values()):
            left_out.add("no price", f"{name} in {listing.region or 'no region'}")
        for purchase, price in listing.prices.items():
            if price > 0:
                found.setdefault((listing.provider, instance.name, listing.region, purchase), []).append(listing)
    return [_group(verdicts, purchase, lines) for (_, _, _, purchase), lines in found.items()]


def _verdict(finder: NodeTypeFinder, instance: Instance) -> NodeType | str:
    if not instance.name:
        return "a GPU listed apart from its machine: not the price of a node"
    try:
        return finder.find(instance)
    except NotResolved as reason:
        return str(reason)


def _group(verdicts: Mapping[Instance, NodeType | str], purchase: Purchase, lines: list[_Listing]) -> _Group:
    node_type = verdicts[lines[0].instance]
    assert isinstance(node_type, NodeType)
    prices = tuple(line.prices[purchase] for line in lines)
    return _Group(node_type, lines[0], purchase, prices, zones=len({line.zone for line in lines if line.zone}))


def _cheapest(groups: list[_Group], left_out: LeftOut) -> list[_Group]:
    best: dict[tuple[str, str, str, Purchase], _Group] = {}
    for group in groups:
        key = (group.first.provider, group.node_type.node_type, group.first.region, group.purchase)
        if key not in best or group.price < best[key].price:
            best[key] = group
    kept = list(best.values())
    for group in groups:
        if group not in kept:
            left_out.add("dearer than another instance of the same node type (--cheapest)", group.first.instance.name)
    return kept


def _row(group: _Group, kind: _Format, source: str, as_of: datetime.date) -> dict[str, str]:
    low, high = min(group.prices), max(group.prices)
    many = f"{group.zones} zones" if group.zones > 1 else f"{len(group.prices)} lines"
    evidence = f"{kind.name}, {'on-demand' if group.purchase == 'on_demand' else 'spot'} price of the instance"
    if low < high:
        evidence += f"; median of {many}, {number_text(low)} to {number_text(high)}"
    elif group.zones > 1:
        evidence += f"; the same in {many}"
    listing = group.first
    note = f"listed as {listing.instance.gpu} x {listing.instance.gpus:g}"
    return {
        "node_type": group.node_type.node_type,
        "purchase": group.purchase,
        "used_usd_per_node_h": number_text(group.price),
        "provider": listing.provider,
        "region": listing.region,
        "evidence": evidence,
        "source": source,
        "as_of": as_of.isoformat(),
        "label": f"{listing.provider} {listing.instance.name}",
        "note": f"{note}; flags: {listing.flags}" if listing.flags else note,
    }
