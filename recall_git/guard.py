"""Makes text from notes safe to show: one line that cannot break a digest, and no credentials.

Pure: standard library only, no I/O, every function linear in its input. Notes are written by
people (and arrive with clones), so their text is quoted material: it must not end the frame it is
quoted in, look like a turn of the conversation, or carry characters that a reader cannot see.
"""

from __future__ import annotations

import re
import unicodedata

HEADER = "Notes from this repository that may bear on the request"
FOOTER = "(end of notes)"
HEADINGS = {
    "profile": "Profile on record:",
    "prohibitions": "Standing prohibitions recorded by the team:",
    "latest": "Latest lessons and conclusions:",
    "resume": "Where the last session stopped:",
    "relevant": "Related to this request:",
}
"""The frame's own words live here, and not in ``digest``, because here they are kept out of quoted text."""

NAME_CHARS = 40
MASK = "[masked]"
ELLIPSIS = "…"

_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b\n]{0,256}(?:\x07|\x1b\\)?|[@-Z\\^_])|\x9b[0-?]*[ -/]*[@-~]"
)
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufdd0-\ufdef\ufffe\uffff\ue000-\uf8ff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]+"
)
"""Default_Ignorable_Code_Point (Unicode 16, DerivedCoreProperties), interlinear annotation, noncharacters,
private use and everything above: what a reader does not see and a model does."""
_BLANK = re.compile("[\\s\x00-\x1f\x7f-\x9f\u2800]+")
_SURROGATE = re.compile("[\ud800-\udfff]")

_EMOJI = "[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]"
_EMOJI_GLUE = re.compile(f"(?<={_EMOJI})\ufe0f(?!\ufe0f)|(?<=[0-9#*])\ufe0f(?=\u20e3)")
_EMOJI_JOIN = re.compile(f"(?:(?<={_EMOJI})|(?<={_EMOJI}\ue001))\u200d(?={_EMOJI})")
_KEPT = {"\ue001": "\ufe0f", "\ue002": "\u200d"}
"""Stand-ins (private use, removed from the input before) for the two format characters that emoji need."""

_TAG = re.compile(
    r"(?<![<＜﹤])[<＜﹤]+(?=\s{0,8}[/!?|]|[A-Za-z_]|\s{1,8}(?:system|hook|recall|human|assistant|user|tool)\b)", re.I
)
_TAG_END = re.compile(r"(‹[^<>‹›]{0,200})([>＞﹥]+)")
_PIPE_TAG = re.compile(r"\|[>＞]|<<\s{0,4}/?SYS|>>")
_FENCE = re.compile(r"`{3,}|~{3,}|[｀]{3,}")
_INST = re.compile(r"[\[［](\s{0,4}/?\s{0,4}(?:INST|SYS|SYSTEM|ASSISTANT|USER|HUMAN)\s{0,4})[\]］]", re.I)
_ROLE = re.compile(
    r"(^|\n|\r|\u2028|\u2029|\x85)([\s>*_#\-\"'`]{0,12})"
    r"(system(?: (?:prompt|message|reminder|note))?|human|assistant|user|developer|tool|ai|claude|chatgpt|gpt"
    r"|instructions?|系统|系統|用户|用戶|助手|人类|システム|ユーザー?|アシスタント|指示)"
    r"([\s*_]{0,4})[:：]",
    re.I,
)
_FRAME = re.compile(
    "|".join(
        r"\s+".join(re.escape(word) for word in phrase.rstrip(":").split())
        for phrase in (HEADER, FOOTER, *HEADINGS.values())
    ),
    re.I,
)


def line(text: str, limit_chars: int) -> str:
    """Return *text* as at most *limit_chars* characters that stay on one line and inside the frame.

    Control and invisible characters are gone, runs of white space are one space, lone surrogates are
    U+FFFD, tags, fences, role markers and the frame's own phrases are spelled so that they mark
    nothing. A longer text is cut at a word boundary and ends with ``…``. Reads only as much of
    *text* as can matter, so the length of *text* does not count.
    """
    if limit_chars <= 0:
        return ""
    text = plain(text[: 8 * limit_chars + 1024])
    if ":" in text or "：" in text:
        text = _ROLE.sub(r"\1\2\3\4 - ", text)
    return _cut(neutral(_BLANK.sub(" ", text).strip()), limit_chars)


def name(text: str) -> str:
    """Return what a commit calls its author, at most ``NAME_CHARS`` characters of one line and no credential."""
    return line(mask(text[:2000]), NAME_CHARS) if text else ""


def location(path: str) -> str:
    """Return *path* whole, on one line and inside the frame; what cannot be shown is ``?``."""
    shown = _INVISIBLE.sub("?", _SURROGATE.sub("\ufffd", path))
    shown = re.sub("[\x00-\x1f\x7f-\x9f\u2028\u2029\u2800]", "?", shown)
    return neutral(shown)


def plain(text: str) -> str:
    """Return *text* without terminal sequences and invisible characters; line ends stay."""
    if text.isascii() and text.isprintable():
        return text
    text = _ANSI.sub("", text)
    if text.isascii():
        return text
    text = _SURROGATE.sub("\ufffd", text)
    text = re.sub("[\ue000-\uf8ff]", "", text)
    text = _EMOJI_JOIN.sub("\ue002", _EMOJI_GLUE.sub("\ue001", text))
    text = _INVISIBLE.sub(lambda found: "".join(_KEPT.get(c, "") for c in found[0]), text)
    return _thin_marks(text)


def neutral(text: str) -> str:
    """Return *text* with everything that could open, close or fake a frame spelled harmlessly."""
    if _MARKUP.search(text):
        text = _without_markup(text)
    return _FRAME.sub(lambda found: re.sub(r"\s+", "-", found[0]), text)


_MARKUP = re.compile("[<＜﹤>＞﹥|`~｀\\[［]")
"""Without one of these there is no tag, pipe, fence or bracket to look for: most text has none."""


def _without_markup(text: str) -> str:
    text = _TAG.sub(lambda found: "‹" * len(found[0]), text)
    if "‹" in text:
        text = _TAG_END.sub(lambda found: found[1] + "›" * len(found[2]), text)
    text = _PIPE_TAG.sub(lambda found: found[0].replace("<", "‹").replace(">", "›").replace("＞", "›"), text)
    text = _FENCE.sub(lambda found: found[0][0], text)
    return _INST.sub(r"(\1)", text)


_MARK = re.compile("[\u0300-\u036f\u1ab0-\u20f0]")


def _thin_marks(text: str) -> str:
    """Keep at most four combining marks in a row; more hide a message or cover their neighbours."""
    if not _MARK.search(text):
        return text
    kept: list[str] = []
    run = 0
    for char in text:
        run = run + 1 if unicodedata.combining(char) else 0
        if run <= 4:
            kept.append(char)
    return "".join(kept)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    if head and text[limit - 1].isalnum() and text[limit - 1].isascii():
        space = head.rfind(" ")
        # Further back than this a boundary costs more than a broken word (CJK text has hardly any).
        if space >= len(head) - 32 and space > len(head) // 2:
            head = head[:space]
    while head and (unicodedata.combining(head[-1]) or head[-1] in "\u200d\ufe0f"):
        head = head[:-1]
    return head.rstrip(" ,;:-–—(（、，；：") + ELLIPSIS


# Credentials. Shapes after gitleaks' default rules (github.com/gitleaks/gitleaks, config/gitleaks.toml,
# MIT) and the formats that the vendors document; the assignments are ours. The literal in front is
# looked for first, since most texts contain none of them.
_TOKENS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (literal, re.compile(pattern))
    for literal, pattern in (
        ("AKIA", r"(?<![A-Z0-9])AKIA[A-Z0-9]{16}(?![A-Z0-9])"),
        ("ASIA", r"(?<![A-Z0-9])ASIA[A-Z0-9]{16}(?![A-Z0-9])"),
        ("ABIA", r"(?<![A-Z0-9])ABIA[A-Z0-9]{16}(?![A-Z0-9])"),
        ("ACCA", r"(?<![A-Z0-9])ACCA[A-Z0-9]{16}(?![A-Z0-9])"),
        ("gh", r"gh[pousr]_[A-Za-z0-9]{30,255}"),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{22,255}"),
        ("gl", r"(?<![A-Za-z0-9])gl(?:pat|ptt|rt|dt|cbt|soat|ft|imt|oas|agent)-[A-Za-z0-9_.-]{20,255}"),
        ("xox", r"(?<![A-Za-z0-9])xox[abeoprs](?:\.xox[abeoprs])?-[A-Za-z0-9-]{10,255}"),
        ("xapp-", r"(?<![A-Za-z0-9])xapp-\d-[A-Za-z0-9-]{10,255}"),
        ("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,255}"),
        ("sk-", r"(?<![A-Za-z0-9])sk-(?:proj-|svcacct-|admin-|ant-|or-)?[A-Za-z0-9_-]{20,255}"),
        ("AIza", r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}"),
        ("ya29.", r"(?<![A-Za-z0-9])ya29\.[A-Za-z0-9_-]{20,500}"),
        ("GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,60}"),
        ("k_", r"(?<![A-Za-z0-9])[rs]k_(?:live|test|prod)_[A-Za-z0-9]{10,99}"),
        ("npm_", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}"),
        ("pypi-", r"pypi-AgE[A-Za-z0-9_-]{50,500}"),
        ("hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z]{34}"),
        ("SG.", r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{16,64}"),
        ("gsk_", r"(?<![A-Za-z0-9])gsk_[A-Za-z0-9]{40,64}"),
        ("xai-", r"(?<![A-Za-z0-9])xai-[A-Za-z0-9]{40,100}"),
        ("dop_v1_", r"dop_v1_[a-f0-9]{64}"),
        (":AA", r"(?<![0-9])[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}(?![A-Za-z0-9_-])"),
        ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
        ("eyJ", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,8000}(?:\.[A-Za-z0-9_-]{0,2000})?"),
        (
            "PRIVATE KEY",
            r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            r"(?:\s*(?:Proc-Type|DEK-Info|Version|Comment): [^\n]{0,200}\n)*"
            r"(?:(?:\s|\\n)*[A-Za-z0-9+/=]{16,})*(?:(?:\s|\\n)*[A-Za-z0-9+/=]{1,15}(?=\s|\\n|-|$))?"
            r"(?:(?:\s|\\n)*-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----)?",
        ),
    )
)
_URL_LOGIN = re.compile(r"(?<=://)([^\s/:@'\"<>]{0,100}):([^\s/@'\"<>]{1,300})@")
_AUTH_HEADER = re.compile(
    r"\b((?:proxy-)?authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?(?:bearer|basic|token)\s{1,3})([^\s\"',;]{8,4000})", re.I
)
_BEARER = re.compile(r"\b(bearer\s{1,3})([A-Za-z0-9_.~+/=-]{16,4000})", re.I)
_ASSIGNED = re.compile(
    r"(?:(?:(?<![A-Za-z])|(?=pass(?:word|wd|phrase)))(?P<key>pass(?:word|wd|phrase|code)?|pwd|pin|secrets?|tokens?|credentials?"
    r"|(?:api|access|secret|private|auth|account|encryption|signing|license)[ _-]?(?:key|token|secret))"
    r"|(?P<cjk>密[码碼]|口令|密[钥鑰]|令牌|パスワード|暗証番号|パスフレーズ|トークン|シークレット|秘密鍵|合言葉))"
    r"(?P<join>[\"'`*)）]{0,3}\s{0,3}(?:[:=：＝]|:=|=>|→|is|was|は|是|为|為|(?<=\s))\s{0,3}[\"'`「『“*]{0,3})"
    r"(?P<value>[^\s\"'`」』”,;，。、；]{4,300})",
    re.I,
)
_EDGES = re.compile(r"^[(*_`（]+|[.!?。！？)*_`）]+$")
_PLACEHOLDER = re.compile(
    r"^(?:[<\[{$%(]|os\.|process\.|env[.\[(]|ENV|getenv|secrets?\.|vault|x{3,}|\*{3,}|\.{3}|your|my[-_]?|change|example"
    r"|none|null|true|false|undefined|required|optional|str|string|https?://|[A-Za-z_.]+\()",
    re.I,
)


def mask(text: str) -> str:
    """Return *text* with what looks like a credential replaced by ``[masked]``; linear in its length.

    Known token shapes, private keys, logins in URLs, authorization headers, and values assigned to
    something called password, token, 密码, パスワード … that are no placeholder and no plain word.
    """
    for literal, pattern in _TOKENS:
        if literal in text:
            text = pattern.sub(MASK, text)
    if "://" in text:
        text = _URL_LOGIN.sub(_masked_login, text)
    text = _AUTH_HEADER.sub(rf"\1{MASK}", text)
    text = _BEARER.sub(_masked_bearer, text)
    return _ASSIGNED.sub(_masked_value, text)


def _masked_login(found: re.Match[str]) -> str:
    return found[0] if _PLACEHOLDER.match(found[2]) else f"{found[1]}:{MASK}@"


def _masked_bearer(found: re.Match[str]) -> str:
    return found[1] + MASK if any(c.isdigit() for c in found[2]) else found[0]


def _masked_value(found: re.Match[str]) -> str:
    value = found["value"]
    named_exactly = bool(re.search(r"[:=：＝→は是为為]", found["join"]))
    if not _looks_secret(value, word=found["key"] or found["cjk"], assigned=named_exactly):
        return found[0]
    return found[0][: found.start("value") - found.start()] + MASK


def _looks_secret(value: str, *, word: str, assigned: bool) -> bool:
    """Tell a value from a word of prose: 'password: required' and 'token: 4096' are no secrets."""
    bare = re.sub(_EDGES, "", re.match("[!-~]*", value.replace(MASK, ""))[0])  # type: ignore[index]  # it matches ''
    if len(bare) < 4 or _PLACEHOLDER.search(bare):
        return False
    digits = sum(c.isdigit() for c in bare)
    letters = sum(c.isalpha() for c in bare)
    signs = len(bare) - digits - letters
    if not assigned and (len(bare) < 8 or not digits or not letters):
        return False
    password = bool(re.match(r"pass|pwd|pin|密[码碼]|口令|パス|暗証|合言葉", word, re.I))
    if digits == len(bare):
        return password and digits >= 4
    if digits and letters:
        return len(bare) >= (6 if password else 12) and not re.fullmatch(r"v?\d+(?:\.\d+)+\w*", bare)
    if letters == len(bare):
        return len(bare) >= 20 and bare != bare.lower() and bare != bare.upper()
    return password and signs >= 1 and not re.fullmatch(r"[A-Za-z]+(?:[-_./:][A-Za-z]+)*", bare)
