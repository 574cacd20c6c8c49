"""Public functions refuse what their docstrings do not promise, and say which argument it was."""

import re

import pytest
from wrong_arguments import functions, good_arguments, parameters_of, wrong_values

import llrkit as lk

FUNCTIONS = dict(functions())
pytestmark = pytest.mark.filterwarnings("ignore")
CALLED = {"vectors": "embeddings"}
ELSEWHERE = {"cluster", "scatter_classes"}
"""Start processes, or need a client; tests/engine tries them."""


def fault(function, arguments, name, value):
    """What is wrong with how a function takes a wrong value; None if it refuses it and says what it was.

    That is the parameter, the value or, as Python's own errors do, the kind of the value.
    """
    try:
        result = function(**(arguments | {name: value}))
    except (lk.LlrkitError, TypeError, ValueError) as error:
        told = str(error)
        called = CALLED.get(name, name.rstrip("s"))
        named = re.search(rf"\b{called}", told, re.IGNORECASE) or str(value) in told
        return None if named or type(value).__name__ in told else f"{type(error).__name__}: {told}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return f"accepted: {result!r:.60}"


@pytest.mark.parametrize("path", [path for path in FUNCTIONS if path.rpartition(".")[2] not in ELSEWHERE])
def test_what_is_not_promised_is_refused_with_a_reason(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a function that writes in spite of it writes here
    function = FUNCTIONS[path]
    arguments = good_arguments(path, function)
    faults = {
        f"{name}={value!r}": found
        for name, parameter in parameters_of(function).items()
        for value in wrong_values(path, parameter)
        if (found := fault(function, arguments, name, value)) is not None
    }
    assert faults == {}
