"""The public names of a room as its stub lists them, read without importing anything."""

from house import SOURCE, homes_of

ROOMS_WITH_STUB = sorted(
    ".".join(["llrkit", *path.parent.relative_to(SOURCE).parts]) for path in SOURCE.rglob("__init__.pyi")
)


def sub_rooms_of(room):
    """Public names that are rooms themselves: lk.theory, lk.plot."""
    return {name for name, home in homes_of(room).items() if home == room}
