"""What the log tells about recall: figures, and one self-contained page that shows them. Pure, no I/O."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from statistics import median
from typing import Any

from recall_git.trace import OPENED, OUTCOMES

WEEKS = 12


@dataclass(frozen=True, slots=True)
class Week:
    """One week, from its Monday."""

    monday: str
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Figures:
    """What happened, as far back as the log goes."""

    since: str
    until: str
    outcomes: Mapping[str, int]
    """Of all events, by outcome."""
    weeks: tuple[Week, ...]
    """Oldest first, without gaps."""
    most: tuple[tuple[str, int], ...]
    """Notes (paths) by how often they were given, most often first."""
    never: tuple[str, ...]
    """Notes of the commit that were never given."""
    used: int
    """Notes that were given and then opened, by hand or by an agent."""
    notes: int
    reasons: tuple[tuple[str, int], ...]
    """Why nothing was said."""
    median_ms: float
    median_tokens: float
    sessions: int


def figures(records: Sequence[Mapping[str, Any]], paths: Iterable[str]) -> Figures:
    """Return the figures of the log's *records*; *paths* are the notes that there are."""
    events = [record for record in records if record.get("outcome") in (*OUTCOMES, OPENED) and _day(record)]
    given: Counter[str] = Counter()
    used: set[str] = set()
    reasons: Counter[str] = Counter()
    weeks: dict[date, Counter[str]] = {}
    for record in events:
        day = _day(record)
        assert day is not None
        if record["outcome"] == OPENED:
            used |= set(_paths(record)) & given.keys()
            continue
        weeks.setdefault(day - timedelta(days=day.weekday()), Counter())[str(record["outcome"])] += 1
        given.update(_paths(record))
        if record["outcome"] in ("silent", "skipped"):
            reasons[str(record.get("why", "")).partition(" ")[0] or "?"] += 1
    events = [record for record in events if record["outcome"] != OPENED]
    everything = sorted(set(paths))
    injected = [record for record in events if record["outcome"] == "injected"]
    days = sorted(str(record["time"])[:10] for record in events)
    return Figures(
        since=days[0] if days else "",
        until=days[-1] if days else "",
        outcomes={name: count for name in OUTCOMES if (count := sum(r["outcome"] == name for r in events))},
        weeks=tuple(_without_gaps(weeks)[-WEEKS:]),
        most=tuple(sorted(given.items(), key=lambda pair: (-pair[1], pair[0]))),
        never=tuple(path for path in everything if path not in given),
        used=len(used),
        notes=len(everything),
        reasons=tuple(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
        median_ms=round(median(_numbers(events, "ms") or [0]), 1),
        median_tokens=median(_numbers(injected, "tokens") or [0]),
        sessions=len({str(record["session"]) for record in events if record.get("session")}),
    )


def _paths(record: Mapping[str, Any]) -> set[str]:
    """Return the paths of a record's entries."""
    entries = record.get("entries")
    return {path_of(str(entry)) for entry in entries} if isinstance(entries, list) else set()


def path_of(entry: str) -> str:
    """Return the path of an entry of the log, ``path:line``."""
    path, _, line = entry.rpartition(":")
    return path if path and line.isdigit() else entry


def _day(record: Mapping[str, Any]) -> date | None:
    try:
        return datetime.fromisoformat(str(record.get("time", "")).replace("Z", "+00:00")).date()
    except ValueError:
        return None


def _numbers(records: Iterable[Mapping[str, Any]], key: str) -> list[float]:
    return [float(value) for record in records if isinstance(value := record.get(key), int | float)]


def _without_gaps(weeks: Mapping[date, Counter[str]]) -> list[Week]:
    if not weeks:
        return []
    monday, last = max(min(weeks), max(weeks) - timedelta(weeks=WEEKS - 1)), max(weeks)
    found = []
    while monday <= last:
        found.append(Week(monday.isoformat(), dict(weeks.get(monday, {}))))
        monday += timedelta(weeks=1)
    return found


# ---------------------------------------------------------------- the page

_COLOURS = {"injected": "#2f7d4f", "silent": "#8a93a0", "skipped": "#c8ced6", "late": "#c98a1b", "failed": "#b3372f"}
_STYLE = """
:root{color-scheme:light dark;--ink:#1d2329;--soft:#5b6570;--line:#dfe3e8;--paper:#fff;--bar:#2f7d4f}
@media(prefers-color-scheme:dark){:root{--ink:#e6e9ec;--soft:#9aa4af;--line:#343b43;--paper:#16191d;--bar:#58b37f}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,-apple-system,"Segoe UI","Noto Sans","Noto Sans CJK SC",sans-serif}
main{max-width:960px;margin:0 auto;padding:32px 24px 64px}
h1{font-size:26px;margin:0 0 4px}
h2{font-size:18px;margin:40px 0 12px}
p{margin:0 0 12px;color:var(--soft)}
.tiles{display:flex;flex-wrap:wrap;gap:12px;margin:24px 0 0;padding:0;list-style:none}
.tiles li{flex:1 1 130px;
border:1px solid var(--line);border-radius:8px;padding:12px 14px;color:var(--soft);font-size:14px}
.tiles b{display:block;font-size:24px;font-weight:600;color:var(--ink);font-variant-numeric:tabular-nums}
svg{display:block;width:100%;height:auto}
svg text{fill:var(--soft);font-size:12px}
.axis{stroke:var(--line)}
.key{display:flex;flex-wrap:wrap;gap:4px 18px;padding:0;margin:8px 0 0;
list-style:none;color:var(--soft);font-size:14px}
.key i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:6px}
table{width:100%;border-collapse:collapse;font-size:14px}
td,th{padding:5px 8px 5px 0;
text-align:left;vertical-align:top;border-bottom:1px solid var(--line);overflow-wrap:anywhere}
th{color:var(--soft);font-weight:500}
td.n{width:56px;text-align:right;font-variant-numeric:tabular-nums;padding-right:14px}
td.b{width:34%}
.bar{height:10px;border-radius:2px;background:var(--bar);margin-top:6px}
ul.plain{columns:2;column-gap:28px;padding:0;margin:0;list-style:none;font-size:14px}
ul.plain li{overflow-wrap:anywhere;break-inside:avoid;padding:2px 0}
@media(max-width:560px){ul.plain{columns:1}td.b{display:none}}
"""


def page(found: Figures, title: str, commit: str, *, most: int = 20, never: int = 60) -> str:
    """Return one HTML page without any outside resource; everything that comes from notes is escaped."""
    shown = [
        (found.outcomes.get("injected", 0), "times something was given"),
        (_share(found), "of the prompts it looked at"),
        (f"{found.median_tokens:.0f}", "tokens each time, median"),
        (f"{found.median_ms:.0f} ms", "to answer, median"),
        (found.sessions, "sessions"),
        (f"{found.notes - len(found.never)} / {found.notes}", "notes ever given"),
        (f"{found.used} / {len(found.most)}", "of those opened afterwards"),
    ]
    tiles = "".join(f"<li><b>{_safe(value)}</b>{_safe(label)}</li>" for value, label in shown)
    return "\n".join(
        (
            "<!doctype html>",
            '<html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width,initial-scale=1">',
            """<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">""",
            f"<title>{_safe(title)} · recall</title><style>{_STYLE}</style></head><body><main>",
            f"<h1>What was recalled from {_safe(title)}</h1>",
            f"<p>{_safe(_span(found))}, notes as of commit {_safe(commit[:10])}</p>",
            f'<ul class="tiles">{tiles}</ul>',
            "<h2>Each week</h2>",
            _chart(found.weeks),
            "<h2>Most recalled</h2>",
            _table(found.most[:most]) or "<p>Nothing was recalled yet.</p>",
            f"<h2>Never recalled ({len(found.never)})</h2>",
            "<p>Dead memory: nobody asks for it, it is worded unlike the questions, or it is no longer true.</p>",
            _list(found.never, never),
            "<h2>Why nothing was said</h2>",
            _table(found.reasons[:12]) or "<p>It always had something to say.</p>",
            "</main></body></html>",
            "",
        )
    )


def _safe(value: object) -> str:
    from recall_git import guard

    return html.escape(guard.location(guard.mask(str(value))))


def _span(found: Figures) -> str:
    return f"From {found.since} to {found.until}" if found.since else "No recalls yet"


def _share(found: Figures) -> str:
    looked = sum(found.outcomes.get(name, 0) for name in ("injected", "silent"))
    return f"{found.outcomes.get('injected', 0) / looked:.0%}" if looked else "–"


def _chart(weeks: Sequence[Week]) -> str:
    """Return stacked bars as SVG, one a week."""
    if not weeks:
        return "<p>No events yet.</p>"
    width, height, left, foot = 900, 220, 36, 24
    most = max(1, *(sum(week.outcomes.values()) for week in weeks))
    step = (width - left) / max(len(weeks), 6)
    parts = [
        f'<path class="axis" d="M{left} {y:.1f}H{width}"/>'
        f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value}</text>'
        for value in sorted({0, most // 2, most})
        for y in (_y(value, most, height),)
    ]
    for number, week in enumerate(weeks):
        x, total = left + number * step + step * 0.15, 0
        for name in OUTCOMES:
            count = week.outcomes.get(name, 0)
            if count:
                top, bottom = _y(total + count, most, height), _y(total, most, height)
                parts.append(
                    f'<rect x="{x:.1f}" y="{top:.1f}" width="{step * 0.7:.1f}" height="{bottom - top:.1f}" '
                    f'fill="{_COLOURS[name]}"><title>{week.monday}: {count} {name}</title></rect>'
                )
                total += count
        parts.append(f'<text x="{x + step * 0.35:.1f}" y="{height + 18}" text-anchor="middle">{week.monday[5:]}</text>')
    there = {name for week in weeks for name in week.outcomes}
    key = "".join(f'<li><i style="background:{_COLOURS[name]}"></i>{name}</li>' for name in OUTCOMES if name in there)
    drawing = "".join(parts)
    return (
        f'<svg viewBox="0 0 {width} {height + foot}" role="img" aria-label="Events by week and outcome">{drawing}</svg>'
        f'<ul class="key">{key}</ul>'
    )


def _y(value: int, most: int, height: int) -> float:
    return height - (height - 12) * value / most


def _table(rows: Sequence[tuple[str, int]]) -> str:
    if not rows:
        return ""
    most = max(count for _, count in rows)
    body = "".join(
        f'<tr><td class="n">{count}</td><td>{_safe(name)}</td>'
        f'<td class="b"><div class="bar" style="width:{100 * count / most:.0f}%"></div></td></tr>'
        for name, count in rows
    )
    return f"<table>{body}</table>"


def _list(paths: Sequence[str], limit: int) -> str:
    if not paths:
        return "<p>Every note was recalled at least once.</p>"
    rest = len(paths) - limit
    more = f"<p>and {rest} more (git recall stats --json lists all)</p>" if rest > 0 else ""
    return f'<ul class="plain">{"".join(f"<li>{_safe(path)}</li>" for path in paths[:limit])}</ul>{more}'
