"""What every fitted map shares, whatever it maps: how it was made, and its calibration file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import ClassVar, Self, TypedDict

from llrkit._plain import Json
from llrkit.calibrate.recorded_reading import RecordedReading


class MapMetadata(TypedDict, total=False):
    """What fits say of a map besides its parameters; fields of :class:`SavedMap`."""

    method: str
    options: Mapping[str, object]
    details: Mapping[str, object]
    provenance: Mapping[str, object]


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class SavedMap(ABC):
    """A frozen dataclass whose own fields are parameters: numbers, strings, arrays, other maps."""

    method: str = ""
    """Which calibrator made it."""
    options: Mapping[str, object] = field(default_factory=dict)
    """What the calibrator was asked for."""
    details: Mapping[str, object] = field(default_factory=dict)
    """What the fit found out besides the parameters."""
    provenance: Mapping[str, object] = field(default_factory=dict)
    """Counts, range and training metrics, version, hash of the training file."""
    reading: RecordedReading | None = None
    """How the training scores were read (distances, log10 LLRs, which columns); None where nobody knows."""
    densities: Mapping[str, Json] | None = None
    """The training scores of each class as counts in cells, in plain values; None where nobody counted."""

    kind: ClassVar[str] = ""
    format: ClassVar[str] = ""
    """The format and version of its calibration file."""
    older_formats: ClassVar[tuple[str, ...]] = ()
    """Formats that are read, but no longer written."""
    may_be_infinite: ClassVar[frozenset[str]] = frozenset()
    """Parameters that may be infinite; any other that is belongs to a broken file."""

    @abstractmethod
    def try_out(self) -> None:
        """Use the map once, so that broken parameters show when a file is read."""

    def with_provenance(self, **more: object) -> Self:
        """The same map with more known of where it comes from."""
        return replace(self, provenance={**self.provenance, **more})

    def detail(self, name: str) -> float:
        """A number that the fit found out besides the parameters."""
        value = self.details[name]
        if not isinstance(value, (int, float)):
            raise TypeError(f"{name} is {value!r}, not a number")
        return value

    def parameters(self) -> dict[str, object]:
        """The fields of the subclass by name."""
        shared = {item.name for item in fields(SavedMap)}
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name not in shared}

    def to_dict(self) -> dict[str, Json]:
        """Plain numbers and lists: what a calibration file holds."""
        from llrkit.calibrate.map_files import map_to_dict

        return map_to_dict(self)

    def save(self, path: str | Path) -> None:
        """Write a calibration file, all at once or not at all."""
        from llrkit.calibrate.map_files import save_map

        save_map(self, path)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.method or self.kind})"
