"""Names that recur in the notes and are missing from the entity dictionary, in three languages. Pure.

By form, not by a dictionary: capitals and @ for Latin, surnames and titles for Chinese, honorifics for
Japanese. A proposal for a person to look at, so a wrong one costs a glance.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from recall_git.notes import CODE, OPEN, plain, scan

NOTES_MIN = 2
"""A name in a single note needs no dictionary."""


@dataclass(frozen=True, slots=True)
class Name:
    """A name, how often it occurs, and in which notes."""

    name: str
    times: int
    paths: tuple[str, ...]


_HANDLE = re.compile(r"(?<![\w@/.])@([A-Za-z][\w-]{1,38}[A-Za-z0-9])(?![\w@/-]|\.\w)")
_WORD = r"(?:[A-ZÀ-ÖØ-Þ][a-zß-öø-ÿ]+(?:['’-][A-Z][a-z]+)?|[A-Z]\.)"
_PROPER = re.compile(rf"(?<![\w.@/-])({_WORD}(?: (?:(?:van|von|de|da|del|der|la|bin|al) )?{_WORD}){{1,2}})(?![\w-])")
_SURNAMES = (
    "王李张張刘劉陈陳杨楊黄黃赵趙吴吳周徐孙孫马馬朱胡郭何林罗羅高郑鄭梁谢謝宋唐许許邓鄧韩韓冯馮曹彭曾肖蕭田董潘袁蔡蒋蔣余于杜叶葉程魏苏"
    "蘇吕呂丁任卢盧姚沈钟鍾姜崔谭譚陆陸汪范廖石金韦韋贾賈夏付方邹鄒熊白孟秦邱侯江尹薛闫段雷黎史龙龍陶贺賀毛郝顾顧龚龔邵万萬覃武钱錢戴严嚴"
    "莫孔向汤湯"
)
_TITLES = (
    "先生|女士|小姐|老师|老師|同学|同學|经理|經理|总监|總監|主任|工程师|工程師|医生|醫生|教授"
    "|博士|律师|律師|师傅|師傅|院长|院長|总裁|總裁"
)
_CHINESE_TITLED = re.compile(rf"([{_SURNAMES}][\u4e00-\u9fff]{{0,2}}?)(?={_TITLES})")
_CHINESE_NAME = re.compile(
    rf"(?:(?<=^)|(?<=[^\u4e00-\u9fff])|(?<=[由和与與跟给給找问問请請让讓是叫向对對、])|(?<=联系|聯繫|通知|询问|同事|负责))"
    rf"([{_SURNAMES}][\u4e00-\u9fff]{{1,2}}?)"
    r"(?=[^\u4e00-\u9fff]|$|[说說在是的负負和与與跟把会會已将將要去来來给給让讓也都提写寫做建认認表觉覺])"
)
_NICK = re.compile(
    rf"(?:(?<![\u4e00-\u9fff])|(?<=[和与與跟由给給问問找]))([老小阿][{_SURNAMES}])"
    r"(?=[^\u4e00-\u9fff]|$|[说說在是的负負和与與跟把会會已将將要去来來给給让讓也都])"
)
_JAPANESE = re.compile(
    r"((?:[\u4e00-\u9fff々]{1,5}(?:[\u3041-\u3096]{1,3})?|[\u30a1-\u30fa\u30fc・]{2,16}|[A-Z][a-z]{1,20}))"
    r"(?:さん|さま|様|氏|くん|君|ちゃん|先輩|部長|課長|係長|社長|先生)(?![\u30a1-\u30fa\u30fc])"
)
_DOTTED = re.compile(r"(?<![\u30a1-\u30fa\u30fc])([\u30a1-\u30fa\u30fc]{2,12}・[\u30a1-\u30fa\u30fc]{2,12})")
_KANA = re.compile(r"[\u3041-\u30ff]")
_NOT_NAMES = """
皆 お客 各 貴 同 何 奥 父 母 神 王 仏 皆々 両 诸 高等 高级 高效 高度 高于 高中 高速 方法 方案 方式 方面 方便
方向 向量 于是 任务 任何 任意 马上 金额 金融 石头 周期 周末 周一 周二 周三 周四 周五 周六 周日 周围 白色 白天
黄色 江湖 程序 程度 何时 何处 万一 成功 余额 许多 许可 史料 汤圆 钱包 严格 严重 毛病 武器 段落 时间 田野 曾经
何人 谢谢 陆续 顾问 顾客 雷达 龙头 莫名 孔子 贺卡 钟头 付款 付费 夏天 秦朝 叶子 林业 胡乱 石油 金属 江河 向前
向后 向上 向下 向着 方才 方可 万物 高低 高兴 小于 小时 范围 等于 位于
"""
"""Words of everyday language that have the form of a name."""
_COMMON = """
The This That These Those There Then When Where While With Without What Which Who Why How If In On At By For From And
But Or Not No Yes We You They He She It Its Our Your Their All Any Some Each Every After Before Since As An A See Use
Using Run Add Set Get Make New Note Notes Also However Because Please To Is Are Was Were Be Do Does Can Monday Tuesday
Wednesday Thursday Friday Saturday Sunday January February March April May June July August September October November
December Table Figure Section Chapter Step Part Example Version Ask Tell Contact Ping Thank Thanks Dear Hi Hello Via
"""
_NOT_A_NAME, _NO_PART = frozenset(_NOT_NAMES.split()), frozenset(_COMMON.split())


def names_in(text: str) -> Iterator[str]:
    """Yield the names in a note's text, with repeats; code has none."""
    for line in scan(text):
        if line.kind in (CODE, OPEN) or not line.text.strip():
            continue
        prose = plain(line.text)
        yield from (f"@{found[1]}" for found in _HANDLE.finditer(prose))
        for found in _PROPER.finditer(prose):
            words = found[1].split(" ")
            while words and words[0] in _NO_PART:
                words = words[1:]
            if len(words) > 1 and not any(word in _NO_PART for word in words):
                yield " ".join(words)
        if prose.isascii():
            continue
        japanese = bool(_KANA.search(prose))
        for pattern in (_JAPANESE, _DOTTED) if japanese else (_CHINESE_TITLED, _CHINESE_NAME, _NICK):
            yield from (name for name in pattern.findall(prose) if len(name) > 1 and name[:2] not in _NOT_A_NAME)


def missing(texts: Iterable[tuple[str, str]], known: Iterable[str], least: int) -> list[Name]:
    """Return the names in *texts* (path, text) that occur at least *least* times, in two notes or more.

    What *known* names is left out, and so is a part of a longer name that occurs as often. Most frequent first.
    """
    times: Counter[str] = Counter()
    paths: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for path, text in texts:
        for name in names_in(text):
            times[name] += 1
            paths[name][path] = None
    have = {_folded(name) for name in known}
    found = [
        Name(name, count, tuple(paths[name]))
        for name, count in times.items()
        if count >= least and len(paths[name]) >= NOTES_MIN and _folded(name) not in have
    ]
    found.sort(key=lambda name: (-name.times, name.name))
    return [
        one for one in found if not any(one is not o and one.name in o.name and o.times >= one.times for o in found)
    ]


def _folded(name: str) -> str:
    return name.casefold().lstrip("@")
