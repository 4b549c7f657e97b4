"""Which node type an instance of a cloud is: its GPU with form factor and memory, and how many of them.

Price lists name a GPU `H100` or `A100` whatever its form factor, and goodput measured on one is not that of another. So the form
factor must be known: from what the user says, from the instance's family, or from the words of the names. What stays open is left
out, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.domain.hardware import NodeType
from optimizer.domain.names import join_key
from optimizer.workbook.joining import Spellings

#: Stated memory may differ from usable memory by so much (reserved bytes, GB beside GiB); 80 and 94 GB stay apart.
MEMORY_TOLERANCE = 0.08
_FORM_FACTORS = ("sxm", "pcie", "nvl")

#: Instance families whose GPU their sellers document (AWS EC2, Azure VM sizes, Google machine families, OCI shapes).
FAMILIES: tuple[tuple[str, str], ...] = (
    (r"p4d\.", "A100 SXM 40GB"),
    (r"p4de\.", "A100 SXM 80GB"),
    (r"p5\.", "H100 SXM"),
    (r"p5en?\.", "H200 SXM"),
    (r"p6-b200\.", "B200 SXM"),
    (r"p6-b300\.", "B300 SXM"),
    (r"g6\.", "L4"),
    (r"gr6\.", "L4"),
    (r"g6e\.", "L40S"),
    (r"g7e\.", "RTX PRO 6000"),
    (r"standard_nc\d+ads_a100_v4", "A100 PCIe 80GB"),
    (r"standard_nd96asr_v4", "A100 SXM 40GB"),
    (r"standard_nd96amsr_a100_v4", "A100 SXM 80GB"),
    (r"standard_nc\d+adi?s_h100_v5", "H100 NVL"),
    (r"standard_nd96isr_h100_v5", "H100 SXM"),
    (r"standard_nd96isr_h200_v5", "H200 SXM"),
    (r"standard_nd96isr_mi300x_v5", "MI300X"),
    (r"a2-highgpu-", "A100 SXM 40GB"),
    (r"a2-ultragpu-", "A100 SXM 80GB"),
    (r"a3-(?:high|mega|edge)gpu-", "H100 SXM"),
    (r"a3-ultragpu-", "H200 SXM"),
    (r"a4-highgpu-", "B200 SXM"),
    (r"g2-standard-", "L4"),
    (r"bm\.gpu4\.", "A100 SXM 40GB"),
    (r"bm\.gpu\.a100-v2\.", "A100 SXM 80GB"),
    (r"bm\.gpu\.h100\.", "H100 SXM"),
    (r"bm\.gpu\.h200\.", "H200 SXM"),
    (r"bm\.gpu\.b200\.", "B200 SXM"),
    (r"bm\.gpu\.mi300x\.", "MI300X"),
)


@dataclass(frozen=True)
class Instance:
    """An instance as a price list names it. memory_gb: memory of one GPU under every reading of its unit; empty = not stated."""

    name: str
    gpu: str
    gpus: float
    memory_gb: tuple[float, ...] = ()


class NotResolved(Exception):
    """No one node type is meant; the argument is the reason."""


@dataclass(frozen=True)
class NodeTypeFinder:
    """Finds node types among those of the catalogs. said: GPU of our tables by join key of the source's name, from the user."""

    node_types: Sequence[NodeType]
    gpus: Spellings
    said: Mapping[str, str]

    def find(self, instance: Instance) -> NodeType:
        """The node type of an instance. Raises NotResolved."""
        if instance.gpus != int(instance.gpus) or instance.gpus < 1:
            raise NotResolved("a share of a GPU")
        gpu = self._gpu(instance)
        found = [each for each in self.node_types if each.gpu == gpu and each.gpus_per_node == int(instance.gpus)]
        if len(found) != 1:
            size = f"{gpu} x {int(instance.gpus)}"
            raise NotResolved(f"{size}: {'no' if not found else 'several'} such node type in the catalogs")
        if instance.memory_gb and not _agrees(instance, found[0]):
            stated = " or ".join(f"{gb:.1f}" for gb in instance.memory_gb)
            raise NotResolved(f"{gpu}: memory stated as {stated} GB, and {found[0].node_type} has {found[0].gpu_memory_gb:g} GB")
        return found[0]

    def _gpu(self, instance: Instance) -> str:
        said = self.said.get(join_key(instance.gpu))
        if said is not None:
            return said
        family = self._family(instance)
        if family is not None:
            return family
        named = self.gpus.find(instance.gpu)
        if named is not None:
            return named
        cousins = self._cousins(instance)
        words = f"{instance.gpu}_{instance.name}".casefold()
        told = [form for form in _FORM_FACTORS if form in words]
        if told:
            cousins = [gpu for gpu in cousins if any(form in gpu.casefold() for form in told)]
            if len(cousins) == 1:
                return cousins[0]
        if not cousins:
            name = " ".join([instance.gpu, *(form.upper() for form in told if form not in instance.gpu.casefold())])
            raise NotResolved(f"{name}: not a GPU of the catalogs")
        choice = " or ".join(cousins)
        example = f"--map '{instance.gpu}={cousins[0]}'"
        raise NotResolved(f"{instance.gpu}: form factor not stated; say which with {example} ({choice})")

    def _family(self, instance: Instance) -> str | None:
        for pattern, gpu in FAMILIES:
            if re.match(pattern, instance.name, re.IGNORECASE):
                known = self.gpus.find(gpu)
                same = known is not None and join_key(instance.gpu).startswith(join_key(known.split()[0]))
                return known if same else None
        return None

    def _cousins(self, instance: Instance) -> list[str]:
        """GPUs of the catalogs whose product is named and whose memory agrees."""
        found = []
        for gpu in dict.fromkeys(each.gpu for each in self.node_types):
            product = gpu.split()[0].casefold()
            named = re.match(rf"(?:nvidia|amd)?[ _-]*{re.escape(product)}(?![a-z0-9])", instance.gpu.casefold())
            if named and any(not instance.memory_gb or _agrees(instance, each) for each in self.node_types if each.gpu == gpu):
                found.append(gpu)
        return found


def _agrees(instance: Instance, node_type: NodeType) -> bool:
    limit = MEMORY_TOLERANCE * node_type.gpu_memory_gb
    return any(abs(gb - node_type.gpu_memory_gb) <= limit for gb in instance.memory_gb)
