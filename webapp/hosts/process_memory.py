"""The sizes that Flink derives from the memory settings of a TaskManager, from 1.10 to 2.3, and
settings that lead to required sizes.

Flink starts from the first of these that is set: task heap and managed memory, total Flink memory,
total process memory. Unset parts are a fraction within a range. The rest is heap, or network memory
if the task heap is set. If settings contradict each other, no TaskManager starts.
"""

import re
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from ingest.flink_rest.versions import release
from webapp.hosts.memory_budget import (
    HEAP,
    MANAGED,
    METASPACE,
    NETWORK,
    OFF_HEAP,
    OPTIONS,
    OVERHEAD,
)
from webapp.lib.flink_values import size_bytes

Sizes = Mapping[str, int]
"""Bytes by part of memory; heap and off-heap include Flink's own."""

MIB = 1 << 20
PROCESS, FLINK = "taskmanager.memory.process.size", "taskmanager.memory.flink.size"
TASK_HEAP, MANAGED_SIZE = OPTIONS[HEAP], OPTIONS[MANAGED]
_FRAMEWORK_HEAP = "taskmanager.memory.framework.heap.size"
_FRAMEWORK_OFF_HEAP = "taskmanager.memory.framework.off-heap.size"
_TASK_OFF_HEAP = OPTIONS[OFF_HEAP]
_METASPACE = OPTIONS[METASPACE]
_NETWORK, _OVERHEAD = "taskmanager.memory.network", "taskmanager.memory.jvm-overhead"
_MANAGED_FRACTION = "taskmanager.memory.managed.fraction"
_BUFFERS = "taskmanager.network.numberOfBuffers"
_OLD_NETWORK = "taskmanager.network.memory"
_UNBOUNDED_SINCE = (1, 17)
"""In earlier versions, network memory is 1 GiB at most by default."""
_NO_LIMIT = 1 << 62
_DEFAULTS = {
    _FRAMEWORK_HEAP: 128 * MIB,
    _FRAMEWORK_OFF_HEAP: 128 * MIB,
    _TASK_OFF_HEAP: 0,
    _METASPACE: 256 * MIB,
    f"{_NETWORK}.min": 64 * MIB,
    f"{_NETWORK}.max": 1024 * MIB,
    f"{_OVERHEAD}.min": 192 * MIB,
    f"{_OVERHEAD}.max": 1024 * MIB,
}
_FRACTIONS = {f"{_NETWORK}.fraction": 0.1, f"{_OVERHEAD}.fraction": 0.1, _MANAGED_FRACTION: 0.4}
_SIZE_OPTIONS = (*_DEFAULTS, PROCESS, FLINK, TASK_HEAP, MANAGED_SIZE)


class Refused(Exception):
    """No TaskManager starts with the settings, or it is unknown how sizes follow from them."""


def derived_sizes(configuration: Mapping[str, Any], version: str | None) -> Sizes:
    """Sizes of all parts. Raises :class:`Refused`."""
    sizes = _read_sizes(configuration, version)
    fractions = {
        name: _fraction(configuration.get(name), default) for name, default in _FRACTIONS.items()
    }
    framework_heap, metaspace = sizes[_FRAMEWORK_HEAP], sizes[_METASPACE]
    off_heap = sizes[_FRAMEWORK_OFF_HEAP] + sizes[_TASK_OFF_HEAP]
    process, flink = sizes.get(PROCESS), sizes.get(FLINK)
    task_heap, managed = sizes.get(TASK_HEAP), sizes.get(MANAGED_SIZE)
    is_fine_grained = task_heap is not None and managed is not None
    overhead: int | None = None
    if flink is None and not is_fine_grained:
        if process is None:
            raise Refused
        overhead = _part(_OVERHEAD, sizes, fractions[f"{_OVERHEAD}.fraction"], process)
        flink = process - metaspace - overhead
    if flink is None:
        fixed = framework_heap + (task_heap or 0) + off_heap + (managed or 0)
        network = _part(_NETWORK, sizes, _inverse(fractions[f"{_NETWORK}.fraction"]), fixed)
        flink = fixed + network
    else:
        if managed is None:
            managed = _times(fractions[_MANAGED_FRACTION], flink)
        if task_heap is None:
            network = _part(_NETWORK, sizes, fractions[f"{_NETWORK}.fraction"], flink)
        else:
            network = flink - framework_heap - task_heap - off_heap - managed
            _check_range(_NETWORK, sizes, network)
    heap = flink - off_heap - (managed or 0) - network
    if overhead is None and process is not None:
        overhead = process - flink - metaspace
        _check_range(_OVERHEAD, sizes, overhead)
    elif overhead is None:
        inverse = _inverse(fractions[f"{_OVERHEAD}.fraction"])
        overhead = _part(_OVERHEAD, sizes, inverse, flink + metaspace)
    # Flink accepts a task heap of 0, but no task can run in it.
    if heap <= framework_heap:
        raise Refused
    return {
        HEAP: heap,
        OFF_HEAP: off_heap,
        NETWORK: network,
        MANAGED: managed or 0,
        METASPACE: metaspace,
        OVERHEAD: overhead,
    }


def settings_for(
    least: Sizes, configuration: Mapping[str, Any], version: str | None
) -> dict[str, int] | None:
    """Settings to change, in bytes (whole MiB), so that each part has at least its size in
    ``least`` and less than 1 MiB more (the rest: a few MiB). None if no settings do this.
    """
    rounded = {name: -(-size // MIB) * MIB for name, size in least.items()}
    rest = NETWORK if TASK_HEAP in configuration else HEAP
    most = {**rounded, rest: rounded[rest] + len(rounded) * MIB}
    sizes = {name: configuration[name] for name in _SIZE_OPTIONS if name in configuration}
    current = _read_sizes(configuration, version)
    changed: dict[str, int] = {}
    if PROCESS in sizes:
        changed[PROCESS] = sum(rounded.values())
    if FLINK in sizes:
        changed[FLINK] = sum(rounded.values()) - rounded[METASPACE] - rounded[OVERHEAD]
    pins = {
        METASPACE: {_METASPACE: rounded[METASPACE]},
        OVERHEAD: {f"{_OVERHEAD}.min": rounded[OVERHEAD], f"{_OVERHEAD}.max": rounded[OVERHEAD]},
        OFF_HEAP: {_TASK_OFF_HEAP: rounded[OFF_HEAP] - current[_FRAMEWORK_OFF_HEAP]},
        MANAGED: {MANAGED_SIZE: rounded[MANAGED]},
        NETWORK: {f"{_NETWORK}.min": rounded[NETWORK], f"{_NETWORK}.max": rounded[NETWORK]},
    }
    if TASK_HEAP in sizes:
        changed[TASK_HEAP] = rounded[HEAP] - current[_FRAMEWORK_HEAP]
    for name, settings in pins.items():
        if not _is_in_range(configuration, version, changed, name, least, most):
            changed |= settings
    if min(changed.values(), default=-1) < 0 or not all(
        _is_in_range(configuration, version, changed, name, least, most) for name in least
    ):
        return None
    return {
        name: size
        for name, size in changed.items()
        if name not in sizes or size_bytes(sizes[name], -1) != size
    }


def setting_text(size: int) -> str:
    """The size in Flink's format: a whole number and a unit."""
    return f"{size // MIB}m" if size % MIB == 0 else f"{size}b"


def least_network(configuration: Mapping[str, Any], version: str | None) -> int:
    return _read_sizes(configuration, version)[f"{_NETWORK}.min"]


def _is_in_range(
    configuration: Mapping[str, Any],
    version: str | None,
    changed: Mapping[str, int],
    name: str,
    least: Sizes,
    most: Sizes,
) -> bool:
    try:
        size = derived_sizes({**configuration, **changed}, version)[name]
    except Refused:
        return False
    return least[name] <= size <= most[name]


def _read_sizes(configuration: Mapping[str, Any], version: str | None) -> dict[str, int]:
    if any(name == _BUFFERS or name.startswith(f"{_OLD_NETWORK}.m") for name in configuration):
        raise Refused
    sizes = dict(_DEFAULTS)
    flink = release(version)
    if flink is not None and flink >= _UNBOUNDED_SINCE:
        sizes[f"{_NETWORK}.max"] = _NO_LIMIT
    for name in _SIZE_OPTIONS:
        if name in configuration:
            sizes[name] = size_bytes(configuration[name], -1)
            if sizes[name] < 0:
                raise Refused
    for option in (_NETWORK, _OVERHEAD):
        if sizes[f"{option}.min"] > sizes[f"{option}.max"]:
            raise Refused
    return sizes


def _fraction(text: Any, default: float) -> float:
    number = str(default if text is None else text).strip()
    if not re.fullmatch(r"0?\.\d{1,9}|[01](?:\.\d{1,9})?", number):
        raise Refused
    return float(struct.unpack("f", struct.pack("f", float(number)))[0])


def _inverse(fraction: float) -> float:
    if fraction >= 1:
        raise Refused
    return fraction / (1 - fraction)


def _part(option: str, sizes: Mapping[str, int], fraction: float, whole: int) -> int:
    return min(max(_times(fraction, whole), sizes[f"{option}.min"]), sizes[f"{option}.max"])


def _times(fraction: float, whole: int) -> int:
    return int(whole * Decimal(repr(fraction)))


def _check_range(option: str, sizes: Mapping[str, int], size: int) -> None:
    if not sizes[f"{option}.min"] <= size <= sizes[f"{option}.max"]:
        raise Refused
