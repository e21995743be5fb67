"""The quick JSON reads and writes what ``json`` does."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recall_git import quickjson

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@given(VALUES)
def test_writes_and_reads_as_json_does(value: object) -> None:
    written = quickjson.dumps(value)
    assert written.isascii()
    assert "\n" not in written
    assert written == json.dumps(value)
    assert quickjson.loads(f" \t{json.dumps(value, indent=1)}\r\n") == value


@given(st.text(alphabet='{}[]",:0123456789.eE+-truefalsn \\\ud800é', max_size=30))
def test_refuses_what_json_refuses(text: str) -> None:
    def outcome(read: object) -> object:
        try:
            return repr(read(text))  # type: ignore[operator]
        except ValueError:
            return ValueError

    assert outcome(quickjson.loads) == outcome(json.loads)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}'])
def test_numbers_that_json_has_not_are_refused(text: str) -> None:
    assert not math.isfinite(json.loads(text)) if text == "NaN" else json.loads(text)
    with pytest.raises(ValueError, match="is no JSON"):
        quickjson.loads(text)


def test_depth_ends_in_an_error() -> None:
    with pytest.raises((ValueError, RecursionError)):
        quickjson.loads("[" * 200_000)
