import pytest

from llrkit.base.arguments import names_of
from llrkit.errors import InputError


def test_names_may_come_from_an_iterator():
    assert names_of(iter(["a", "b"]), "columns") == ("a", "b")
    for bad in (iter(["a", 1]), 3, None):
        with pytest.raises(InputError, match="columns must be"):
            names_of(bad, "columns")
