"""JSON for a process that must answer at once: ``json`` imports ``re``, which costs as much as starting Python does.

The same C code that ``json`` stands on does the work. Where an interpreter lacks it, ``json`` does.
"""

from __future__ import annotations

try:
    from _json import encode_basestring_ascii as _quoted
    from _json import make_scanner as _make_scanner
except ImportError:  # pragma: no cover - another interpreter than CPython
    from json.decoder import JSONDecoder
    from json.encoder import encode_basestring_ascii as _quoted

    _scan = JSONDecoder().scan_once  # type: ignore[attr-defined]
else:

    class _Rules:
        """What ``json.JSONDecoder`` tells the scanner by default, but for NaN and Infinity: they are no JSON."""

        strict = True
        object_hook = object_pairs_hook = array_hook = None
        parse_float, parse_int = float, int

        @staticmethod
        def parse_constant(name: str) -> object:
            raise ValueError(f"{name} is no JSON")

    _scan = _make_scanner(_Rules())  # type: ignore[arg-type]

BLANK = " \t\r\n"


def loads(text: str) -> object:
    """Return the value that *text* is. Raises ValueError, or RecursionError when it is nested too deeply."""
    text = text.strip(BLANK)
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("there is no value") from None
    if end != len(text):
        raise ValueError("something follows the value")
    return value


def dumps(value: object) -> str:
    """Return *value* (of dicts with text keys, lists, text, numbers, booleans, None) as one line of ASCII."""
    if isinstance(value, str):
        return str(_quoted(value))
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_quoted(key)}: {dumps(item)}" for key, item in value.items()) + "}"
    assert isinstance(value, list | tuple)
    return "[" + ", ".join(map(dumps, value)) + "]"
