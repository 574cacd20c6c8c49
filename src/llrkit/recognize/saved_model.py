"""Models that are nothing but arrays: frozen dataclasses that know how to be saved."""

from __future__ import annotations

from dataclasses import fields
from os import PathLike
from typing import ClassVar, Self

import numpy as np

from llrkit._arrays import Array
from llrkit.core.summary import ReadOnlyArrays
from llrkit.recognize.model_files import Arrays, load_arrays, naming_file, save_arrays


class SavedModel(ReadOnlyArrays):
    """Shared by frozen dataclasses all of whose fields are arrays of floats, which cannot be written to."""

    schema: ClassVar[str]

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, np.asarray(getattr(self, field.name), dtype=np.float64))
        super().__post_init__()

    def arrays(self, prefix: str = "") -> dict[str, Array]:
        """The arrays by name."""
        return {prefix + field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]

    @classmethod
    def from_arrays(cls, arrays: Arrays, prefix: str = "") -> Self:
        """The model that :meth:`arrays` described."""
        return cls(**{field.name: arrays[prefix + field.name] for field in fields(cls)})  # type: ignore[arg-type]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to an NPZ file."""
        save_arrays(path, self.schema, self.arrays())

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Read a model that was saved."""
        arrays = load_arrays(path, cls.schema)
        with naming_file(str(path)):
            return cls.from_arrays(arrays)
