"""Turn checked-out public repositories into training text for the bundled model.

Reads plain folders, one per repository, named ``owner+name``, and writes two
gzipped JSON-lines files: ``passages`` (one text each, for distillation, for
frequencies and for the vocabulary) and ``pairs`` (two texts that should be
close: question and paragraph, heading and section, a sentence and its
translation). Never opens the network; nothing it reads is kept in this
repository. Which repositories, their licences and commits: the model card.
"""

from __future__ import annotations

import argparse
import ast
import gzip
import html
import json
import random
import re
import sqlite3
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from xml.etree import ElementTree

SHINGLE_WORDS = 9
"""A training text that shares this many consecutive words with a measuring set is dropped."""
SHINGLE_CHARS = 18
"""The same for Chinese and Japanese, in characters."""
PASSAGE_CHARS = (30, 900)
"""Shortest and longest passage; the product's sections are of this order."""
CAP = 12_000
"""Most passages (and most pairs) taken from one source, so that none dominates."""
SEED = 7

CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class Passage:
    lang: str
    genre: str
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Pair:
    langs: str
    kind: str
    source: str
    a: str
    b: str


Item = Passage | Pair


# -- text -------------------------------------------------------------------


def tidy(text: str) -> str:
    """Return *text* with entities resolved and runs of white space collapsed."""
    return re.sub(r"\s+", " ", html.unescape(text)).strip()


def plain(markdown: str) -> str:
    """Return the words of a piece of Markdown: links, images, tags, shortcodes and emphasis removed."""
    text = re.sub(r"<!--.*?-->", " ", markdown, flags=re.S)
    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\{:.*?\}|\{#.*?\}|<[^<>]{1,300}>", " ", text, flags=re.S)
    text = re.sub(r"!\[[^\]]*\]\([^)]*\)", " ", text)
    text = re.sub(r"\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"[*_`|#>]{1,}|^[-+] |:::\s*\w*", " ", text, flags=re.M)
    return tidy(text)


def cut(text: str, low: int, high: int) -> list[str]:
    """Split *text* at sentence ends into pieces of about *high* characters, none under *low*."""
    pieces: list[str] = []
    held = ""
    for sentence in re.findall(r".+?(?:[.!?。！？]+(?=\s|$|[^\x00-\x7f])|$)\s*", text, flags=re.S):
        if held and len(held) + len(sentence) > high:
            pieces.append(held.strip())
            held = ""
        held += sentence
    pieces.append(held.strip())
    return [piece[: 2 * high] for piece in pieces if len(piece) >= low]


def limit(lang: str) -> int:
    """Return the longest passage of *lang* in characters; a Han character says as much as two letters."""
    return PASSAGE_CHARS[1] if lang == "en" else PASSAGE_CHARS[1] // 2


def passages(text: str, lang: str, genre: str, source: str) -> Iterator[Passage]:
    for piece in cut(tidy(text), PASSAGE_CHARS[0] if lang == "en" else 15, limit(lang)):
        if lang == "en" or len(CJK.findall(piece)) > 0.15 * len(piece):
            yield Passage(lang, genre, source, piece)


# -- readers: a folder or file to passages and pairs ---------------------------


def sections(text: str) -> list[tuple[str, list[str], list[str]]]:
    """Split Markdown into (heading, paragraphs, code blocks), in order; front matter's title is a heading."""
    title = ""
    if text.startswith("---"):
        head, _, rest = text[3:].partition("\n---")
        found = re.search(r"^title:\s*(.+)$", head, flags=re.M)
        title = found.group(1).strip(" '\"") if found else ""
        text = rest if rest else text
    found_sections: list[tuple[str, list[str], list[str]]] = [(title, [], [])]
    blocks = re.split(r"(^(?:```|~~~).*?^(?:```|~~~)\s*$)", text, flags=re.S | re.M)
    for block in blocks:
        if block.startswith(("```", "~~~")):
            found_sections[-1][2].append("\n".join(block.splitlines()[1:-1]))
            continue
        for paragraph in re.split(r"\n\s*\n", block):
            heading = re.match(r"\s*#{1,6}\s+(.+)", paragraph)
            if heading:
                found_sections.append((plain(heading.group(1)), [], []))
                paragraph = paragraph[heading.end() :]
            words = plain(paragraph)
            if len(words) >= 15 and not re.match(r"\s*(import|export) ", paragraph):
                found_sections[-1][1].append(words)
    return found_sections


def read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


def markdown(root: Path, source: str, lang: str, genre: str = "docs", pattern: str = "**/*.md*") -> Iterator[Item]:
    """Yield the sections of every Markdown file as passages, code as its own genre, and (heading, section) pairs."""
    for path in sorted(root.glob(pattern)):
        if not path.is_file() or path.name.lower().startswith(("changelog", "license")):
            continue
        parts = sections(read_text(path))
        title = next((heading for heading, _, _ in parts if heading), "")
        for heading, paragraphs, code in parts:
            body = " ".join(paragraphs)
            found = list(passages(body, lang, genre, source))
            yield from found
            for block in code:
                if len(block) > 60:
                    yield Passage("code", "code", source, block[:900])
            head = heading if heading == title else f"{title} {heading}".strip()
            if found and len(head) >= (8 if lang == "en" else 4):
                yield Pair(f"{lang}-{lang}", "heading", source, head, found[0].text)


def aligned_markdown(root_a: Path, root_b: Path, source: str, langs: str, pattern: str = "**/*.md*") -> Iterator[Item]:
    """Yield (section, section) and, where the counts agree, (paragraph, paragraph) of files with the same path."""
    lang_b = langs.split("-")[1]
    for path in sorted(root_a.glob(pattern)):
        other = root_b / path.relative_to(root_a)
        if not other.is_file() or not path.is_file():
            continue
        left, right = sections(read_text(path)), sections(read_text(other))
        if len(left) != len(right):
            continue
        for (head_a, text_a, _), (head_b, text_b, _) in zip(left, right, strict=True):
            if CJK.search(head_b) and len(head_a) > 5:
                yield Pair(langs, "translation", source, head_a, head_b)
            pairs = zip(text_a, text_b, strict=True) if len(text_a) == len(text_b) else []
            for a, b in pairs:
                if len(CJK.findall(b)) > 0.2 * len(b):
                    yield Pair(langs, "translation", source, a[:900], b[: limit(lang_b)])


def catalogue(root: Path, source: str, langs: str) -> Iterator[Item]:
    """Yield (message, translation) of every gettext catalogue under *root*, reStructuredText roles removed."""
    lang = langs.split("-")[1]
    for path in sorted(root.glob("**/*.po")):
        for block in re.split(r"\n\n+", read_text(path)):
            if "#, fuzzy" in block:
                continue
            found = re.search(r'^msgid ((?:".*"\n?)+)msgstr ((?:".*"\n?)+)', block, flags=re.M)
            if not found:
                continue
            a, b = (tidy(re.sub(r":[\w:.-]+:|``|[*`]|<[^>]*>|\|", "", _quoted(part))) for part in found.groups())
            if len(a) >= 25 and len(CJK.findall(b)) > 0.2 * len(b) and len(b) >= 8:
                yield Pair(langs, "translation", source, a[:900], b[: limit(lang)])
                yield Passage("en", "docs", source, a[:900])
                yield Passage(lang, "docs", source, b[: limit(lang)])


def _quoted(lines: str) -> str:
    return "".join(ast.literal_eval(line) for line in lines.strip().splitlines() if line.startswith('"'))


def squad(paths: Iterable[Path], source: str, lang: str, skip_titles: frozenset[str] = frozenset()) -> Iterator[Item]:
    """Yield the contexts, the questions and (question, context) of SQuAD-shaped files."""
    for path in sorted(paths):
        for article in json.loads(read_text(path))["data"]:
            if article.get("title", "") in skip_titles:
                continue
            for paragraph in article["paragraphs"]:
                context = tidy(paragraph["context"])
                yield from passages(context, lang, "encyclopaedia", source)
                for question in paragraph["qas"]:
                    answer = question["answers"][0]["answer_start"] if question.get("answers") else 0
                    window = _window(context, answer, limit(lang) + 100)
                    yield Pair(f"{lang}-{lang}", "question", source, tidy(question["question"]), window)
                    yield Passage(lang, "question", source, tidy(question["question"]))


def _window(text: str, at: int, size: int) -> str:
    start = max(0, min(at - size // 2, len(text) - size))
    return text[start : start + size]


def medquad(root: Path, source: str) -> Iterator[Item]:
    for path in sorted(root.glob("*/*.xml")):
        tree = ElementTree.parse(path)
        for pair in tree.iter("QAPair"):
            question, answer = (tidy(pair.findtext(tag) or "") for tag in ("Question", "Answer"))
            if len(answer) > 60:
                found = list(passages(answer, "en", "science", source))
                yield from found[:2]
                yield Pair("en-en", "question", source, question, found[0].text if found else answer)


def trials(root: Path, source: str) -> Iterator[Item]:
    """Yield titles with abstracts, and body paragraphs, of the articles of evidence-inference."""
    for path in sorted(root.glob("annotations/txt_files/*.txt")):
        parts = re.split(r"\n\s*([A-Z][A-Z0-9 .,:&/-]{3,80}):\s*\n", read_text(path))
        named = list(zip(parts[1::2], parts[2::2], strict=False))
        title = next((tidy(text) for name, text in named if name.strip() == "TITLE"), tidy(parts[0].partition(":")[2]))
        title = title.split("ABSTRACT")[0].strip()
        abstract = tidy(" ".join(text for name, text in named if name.startswith("ABSTRACT")))
        if len(title) > 20 and len(abstract) > 200:
            yield Pair("en-en", "heading", source, title[:300], abstract[:1400])
            yield Passage("en", "question", source, title[:300])
            yield from passages(abstract, "en", "science", source)
        body = [text for name, text in named if name.startswith("BODY")]
        for text in body[1:9:2]:
            yield from list(passages(text, "en", "science", source))[:2]


def pubmedqa(root: Path, source: str) -> Iterator[Item]:
    for entry in json.loads(read_text(root / "data/ori_pqal.json")).values():
        context = tidy(" ".join(entry["CONTEXTS"]))
        yield Pair("en-en", "question", source, entry["QUESTION"], context[:1400])
        yield Pair("en-en", "question", source, tidy(entry["LONG_ANSWER"])[:600], context[:1400])
        yield from passages(context, "en", "science", source)


def dialogues(talks: Iterable[list[str]], source: str, lang: str) -> Iterator[Item]:
    """Yield windows of one to seven turns, and (window, next window) pairs, which share a subject."""
    chance = random.Random(SEED)
    for turns in talks:
        turns = [tidy(turn) for turn in turns if turn and turn.strip()]
        at, before = 0, ""
        while at < len(turns):
            width = chance.choice((1, 2, 3, 5, 7))
            text = "\n".join(turns[at : at + width])[: limit(lang)]
            at += width
            if len(text) < (20 if lang == "en" else 8):
                continue
            yield Passage(lang, "talk", source, text)
            if before and width > 2:
                yield Pair(f"{lang}-{lang}", "talk", source, before, text)
            before = text if width > 2 else ""


def parallel(left: Iterable[str], right: Iterable[str], source: str, langs: str, genre: str) -> Iterator[Item]:
    lang_a, lang_b = langs.split("-")
    for a, b in zip(left, right, strict=False):
        a, b = tidy(a), tidy(b)
        if len(a) > 12 and len(b) > 4:
            yield Pair(langs, "translation", source, a, b)
            yield Passage(lang_a, genre, source, a)
            yield Passage(lang_b, genre, source, b)


def cedict(folder: Path, source: str) -> Iterator[Item]:
    """Yield (gloss, word) of CC-CEDICT, simplified and traditional."""
    for path in sorted(folder.glob("**/*cedict*.txt.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            entries = lines.readlines()
        for line in entries:
            found = re.match(r"(\S+) (\S+) \[[^\]]*\] /(.+)/", line)
            if not found or "surname" in line or "variant of" in line:
                continue
            traditional, simplified, gloss = found.groups()
            gloss = re.sub(r"\[[^\]]*\]|\([^)]*\)|CL:\S+", "", "; ".join(gloss.split("/")[:3]))
            if len(simplified) >= 2 and 3 <= len(gloss) <= 90:
                yield Pair("en-zh", "gloss", source, tidy(gloss), simplified)
                if traditional != simplified:
                    yield Pair("zh-zh", "script", source, simplified, traditional)


def jmdict(database: Path, source: str) -> Iterator[Item]:
    """Yield (gloss, word) of the common entries of JMdict as jamdict stores it."""
    with sqlite3.connect(database) as store:
        common = "select k.idseq, k.text from Kanji k where k.ID in (select kid from KJP) order by k.ID desc"
        words = dict(store.execute(common))
        glosses: dict[int, list[str]] = {}
        for idseq, gloss in store.execute(
            "select s.idseq, g.text from Sense s join SenseGloss g on g.sid = s.ID where g.lang = 'eng' order by g.sid"
        ):
            glosses.setdefault(idseq, []).append(gloss)
    for idseq, word in words.items():
        if idseq in glosses and len(word) >= 2:
            gloss = tidy(re.sub(r"\([^)]*\)", "", "; ".join(glosses[idseq][:3])))
            if 3 <= len(gloss) <= 90:
                yield Pair("en-ja", "gloss", source, gloss, word)


def tldr(root: Path, source: str) -> Iterator[Item]:
    """Yield the command pages: description and examples, and aligned translations."""
    for path in sorted(root.glob("pages/*/*.md")):
        text = read_text(path)
        yield Passage("code", "shell", source, text[:900])
        lead = plain(" ".join(re.findall(r"^> (?!.*https?:)(.+)$", text, flags=re.M)))
        tasks = [plain(task) for task in re.findall(r"^- (.+):$", text, flags=re.M)]
        body = f"{path.stem}: {lead} " + " ".join(tasks)
        yield Passage("en", "shell", source, body[:600])
        if tasks:
            yield Pair("en-en", "heading", source, f"{path.stem} {tasks[0]}", body[:600])
        for lang, folder in (("zh", "pages.zh"), ("ja", "pages.ja")):
            other = root / folder / path.parent.name / path.name
            if other.is_file():
                there = read_text(other)
                lead_b = plain(" ".join(re.findall(r"^> (?!.*https?:)(.+)$", there, flags=re.M)))
                tasks_b = [plain(task) for task in re.findall(r"^- (.+?)[:：]$", there, flags=re.M)]
                pairs = [(lead, lead_b), *(zip(tasks, tasks_b, strict=True) if len(tasks) == len(tasks_b) else [])]
                for a, b in pairs:
                    if len(a) > 10 and CJK.search(b):
                        yield Pair(f"en-{lang}", "translation", source, a, b)
                        yield Passage(lang, "shell", source, b)


def wikitext(path: Path, source: str) -> Iterator[Item]:
    title = ""
    for line in read_text(path).splitlines():
        heading = re.match(r" = ([^=].*?) = $", line)
        if heading:
            title = heading.group(1)
        if len(line) > 200:
            text = re.sub(r" @(.)@ ", r"\1", line).replace(" 's", "'s").replace("<unk>", "")
            text = re.sub(r" ([.,;:!?)])", r"\1", text)
            found = list(passages(text, "en", "encyclopaedia", source))
            yield from found
            if title and found:
                yield Pair("en-en", "heading", source, title, found[0].text)
                title = ""


def org_lines(root: Path, source: str) -> Iterator[Item]:
    """Yield the documents of a KNP-style ``.org`` tree, comment lines removed."""
    for path in sorted(root.glob("org/**/*.org")):
        text = "".join(line for line in read_text(path).splitlines() if not line.startswith("#"))
        yield from passages(text, "ja", "encyclopaedia", source)


def turns_of(paths: Iterable[Path], pick: Callable[[object], list[list[str]]]) -> Iterator[list[str]]:
    for path in sorted(paths):
        yield from pick(json.loads(read_text(path)))


# -- what is read from which repository --------------------------------------------


def everything(src: Path, dictionaries: Path, skip_titles: frozenset[str]) -> Iterator[Item]:
    """Yield the items of every repository under *src* that is there; missing ones are passed over."""

    def at(name: str, sub: str = "") -> Path:
        return src / name / sub

    en_docs = {
        "electron+electron": "docs", "milvus-io+milvus-docs": "site/en", "rails+rails": "guides/source",
        "kubernetes-sigs+kustomize": "", "simonw+til": "", "jbranchaud+til": "", "rust-lang+book": "src",
        "reactjs+react.dev": "src/content", "vuejs+docs": "src", "privacyguides+privacyguides.org": "docs",
        "nodejs+nodejs.org": "apps/site/pages/en", "trekhleb+javascript-algorithms": "src",
    }  # fmt: skip
    for name, sub in en_docs.items():
        skipping = "README.md" if name == "trekhleb+javascript-algorithms" else "*.md*"
        yield from markdown(at(name, sub), name, "en", pattern=f"**/{skipping}")
    for book in ("biology", "anatomy", "sociology", "us-history", "psychology", "economics", "physics", "microbiology"):
        yield from markdown(at(f"philschatz+{book}-book", "contents"), f"philschatz+{book}-book", "en", "encyclopaedia")
    for name, sub, lang in (
        ("pingcap+docs-cn", "", "zh"), ("Snailclimb+JavaGuide", "docs", "zh"), ("d2l-ai+d2l-zh", "", "zh"),
        ("KaiserY+trpl-zh-cn", "src", "zh"), ("reactjs+zh-hans.react.dev", "src/content", "zh"),
        ("rust-lang-ja+book-ja", "src", "ja"),
        ("reactjs+ja.react.dev", "src/content", "ja"), ("vuejs-translations+docs-ja", "src", "ja"),
        ("yasslab+railsguides.jp", "guides/source/ja", "ja"), ("privacyguides+i18n", "i18n/zh", "zh"),
        ("privacyguides+i18n", "i18n/zh-Hant", "zh"), ("privacyguides+i18n", "i18n/ja", "ja"),
        ("github+opensource.guide", "_articles/ja", "ja"), ("github+opensource.guide", "_articles/zh-hans", "zh"),
    ):  # fmt: skip
        yield from markdown(at(name, sub), name, lang)
    for a, b, langs in (
        (at("reactjs+react.dev", "src/content"), at("reactjs+zh-hans.react.dev", "src/content"), "en-zh"),
        (at("reactjs+react.dev", "src/content"), at("reactjs+ja.react.dev", "src/content"), "en-ja"),
        (at("vuejs+docs", "src"), at("vuejs-translations+docs-ja", "src"), "en-ja"),
        (at("rust-lang+book", "src"), at("KaiserY+trpl-zh-cn", "src"), "en-zh"),
        (at("rust-lang+book", "src"), at("rust-lang-ja+book-ja", "src"), "en-ja"),
        (at("privacyguides+privacyguides.org", "docs"), at("privacyguides+i18n", "i18n/zh"), "en-zh"),
        (at("privacyguides+privacyguides.org", "docs"), at("privacyguides+i18n", "i18n/zh-Hant"), "en-zh"),
        (at("privacyguides+privacyguides.org", "docs"), at("privacyguides+i18n", "i18n/ja"), "en-ja"),
        (at("github+opensource.guide", "_articles"), at("github+opensource.guide", "_articles/zh-hans"), "en-zh"),
        (at("github+opensource.guide", "_articles"), at("github+opensource.guide", "_articles/ja"), "en-ja"),
        (at("rails+rails", "guides/source"), at("yasslab+railsguides.jp", "guides/source/ja"), "en-ja"),
    ):  # fmt: skip
        yield from aligned_markdown(a, b, b.relative_to(src).parts[0], langs)
    yield from catalogue(at("python+python-docs-zh-cn"), "python+python-docs-zh-cn", "en-zh")
    yield from catalogue(at("python+python-docs-ja"), "python+python-docs-ja", "en-ja")

    yield from squad(at("SkelterLabsInc+JaQuAD").glob("data/*/*.json"), "SkelterLabsInc+JaQuAD", "ja", skip_titles)
    yield from squad(at("ymcui+cmrc2018").glob("squad-style-data/*.json"), "ymcui+cmrc2018", "zh")
    yield from squad(at("DRCKnowledgeTeam+DRCD").glob("*.json"), "DRCKnowledgeTeam+DRCD", "zh")
    yield from squad(
        at("deepset-ai+COVID-QA").glob("data/question-answering/200423_covidQA.json"), "deepset-ai+COVID-QA", "en"
    )
    yield from medquad(at("abachaa+MedQuAD"), "abachaa+MedQuAD")
    yield from trials(at("jayded+evidence-inference"), "jayded+evidence-inference")
    if at("pubmedqa+pubmedqa").is_dir():
        yield from pubmedqa(at("pubmedqa+pubmedqa"), "pubmedqa+pubmedqa")
    for part in at("pytorch+examples").glob("word_language_model/data/wikitext-2/*.txt"):
        yield from wikitext(part, "wikitext-2")
    yield from org_lines(at("ku-nlp+WikipediaAnnotatedCorpus"), "ku-nlp+WikipediaAnnotatedCorpus")
    yield from tldr(at("tldr-pages+tldr"), "tldr-pages+tldr")

    yield from dialogues(
        turns_of(
            at("google-research-datasets+dstc8-schema-guided-dialogue").glob("train/dialogues_*.json"),
            lambda data: [[turn["utterance"] for turn in talk["turns"]] for talk in data],  # type: ignore[attr-defined]
        ),
        "google-research-datasets+dstc8-schema-guided-dialogue",
        "en",
    )
    yield from dialogues(
        turns_of(
            at("google-research-datasets+Taskmaster").glob("TM-[234]*/data/*.json"),
            lambda data: [[turn["text"] for turn in talk["utterances"]] for talk in data],  # type: ignore[attr-defined]
        ),
        "google-research-datasets+Taskmaster",
        "en",
    )
    yield from dialogues(
        turns_of(
            at("nu-dialogue+real-persona-chat").glob("real_persona_chat/dialogues/*.json"),
            lambda data: [[turn["text"] for turn in data["utterances"]]],  # type: ignore[index]
        ),
        "nu-dialogue+real-persona-chat",
        "ja",
    )
    yield from dialogues(
        turns_of(
            at("thu-coai+KdConv").glob("data/*/[dt]e*.json"),
            lambda data: [[turn["message"] for turn in talk["messages"]] for talk in data],  # type: ignore[attr-defined]
        ),
        "thu-coai+KdConv",
        "zh",
    )
    for zipped in at("thu-coai+CrossWOZ").glob("data/crosswoz/*.json.zip"):
        with zipfile.ZipFile(zipped) as box:
            talks = json.loads(box.read(box.namelist()[0]))
        turns = [[turn["content"] for turn in talk["messages"]] for talk in talks.values()]
        yield from dialogues(turns, "thu-coai+CrossWOZ", "zh")
    for path in sorted(at("megagonlabs+asdc").glob("data/vanilla/*.jsonl")):
        rows = [json.loads(line) for line in read_text(path).splitlines()]
        yield from dialogues([[t["text"] for t in row["utterances"]] for row in rows], "megagonlabs+asdc", "ja")
    for lang, folder in (("en", "english"), ("zh", "chinese"), ("ja", "japanese")):
        for path in sorted(at("gunthercox+chatterbot-corpus").glob(f"chatterbot_corpus/data/{folder}/*.yml")):
            lines = [line.strip(" -\n") for line in read_text(path).splitlines() if line.startswith(("- -", "  -"))]
            yield from dialogues([lines], "gunthercox+chatterbot-corpus", lang)

    tanaka = at("odashi+small_parallel_enja")
    if tanaka.is_dir():
        spaced = read_text(tanaka / "train.ja").splitlines()
        japanese = (line.replace(" ", "") for line in spaced)
        english = (
            line.replace(" '", "'").replace(" .", ".").replace(" ,", ",").replace(" ?", "?")
            for line in read_text(tanaka / "train.en").splitlines()
        )
        yield from parallel(english, japanese, "odashi+small_parallel_enja", "en-ja", "talk")
    tatoeba = at("jayeew+MachineTranslation-Transformer", "cmn.txt")
    if tatoeba.is_file():
        rows_ = [line.split("\t")[:2] for line in read_text(tatoeba).splitlines() if "\t" in line]
        yield from parallel((r[0] for r in rows_), (r[1] for r in rows_), "tatoeba", "en-zh", "talk")
    news = at("MicrosoftTranslator+NTREX", "NTREX-128")
    if news.is_dir():
        english_news = read_text(news / "newstest2019-src.eng.txt").splitlines()
        for tag, lang in (("zho-CN", "zh"), ("zho-TW", "zh"), ("jpn", "ja")):
            there = read_text(news / f"newstest2019-ref.{tag}.txt").splitlines()
            yield from parallel(english_news, there, "MicrosoftTranslator+NTREX", f"en-{lang}", "news")
    yield from cedict(dictionaries, "CC-CEDICT")
    for database in dictionaries.glob("**/jamdict*.db"):
        yield from jmdict(database, "JMdict")


# -- keeping the measuring sets out --------------------------------------------------


def shingles(text: str) -> set[int]:
    """Return hashes of the runs of words, or of characters in Chinese and Japanese, that identify a text."""
    if len(CJK.findall(text)) > 0.2 * len(text):
        bare = re.sub(r"\W+", "", text)
        return {hash(bare[i : i + SHINGLE_CHARS]) for i in range(len(bare) - SHINGLE_CHARS + 1)}
    words = re.findall(r"\w+", text.lower())
    return {hash(tuple(words[i : i + SHINGLE_WORDS])) for i in range(len(words) - SHINGLE_WORDS + 1)}


def measuring(folder: Path | None) -> tuple[set[int], frozenset[str]]:
    """Return the shingles and the titles of the measuring sets under *folder*."""
    seen: set[int] = set()
    titles: set[str] = set()
    for path in [] if folder is None else sorted(folder.glob("*/*.jsonl")):
        for line in read_text(path).splitlines():
            row = json.loads(line)
            seen |= shingles(row["text"])
            if path.parent.name.startswith(("xquad", "jsquad")):
                titles.add(row.get("title", ""))
    return seen, frozenset(titles - {""})


def collect(src: Path, dictionaries: Path, exclude: Path | None) -> tuple[list[Passage], list[Pair], Counter[str]]:
    """Return passages and pairs without repeats, capped per source, shuffled, the measuring sets kept out."""
    seen, titles = measuring(exclude)
    chance = random.Random(SEED)
    texts: dict[tuple[str, str], list[Passage]] = {}
    pairs: dict[tuple[str, str], list[Pair]] = {}
    known: set[int] = set()
    dropped: Counter[str] = Counter()
    for item in everything(src, dictionaries, titles):
        key = hash(item)
        if key in known:
            continue
        known.add(key)
        words = (item.text,) if isinstance(item, Passage) else (item.a, item.b)
        if any(not seen.isdisjoint(shingles(text)) for text in words):
            dropped[item.source] += 1
        elif isinstance(item, Passage):
            texts.setdefault((item.source, item.lang), []).append(item)
        else:
            pairs.setdefault((item.source, item.kind), []).append(item)
    kept_texts = [item for group in texts.values() for item in chance.sample(group, min(CAP, len(group)))]
    # Dictionaries are broad by nature, so they may be larger.
    kept_pairs = [
        item
        for (_, kind), group in pairs.items()
        for item in chance.sample(group, min(CAP * (4 if kind == "gloss" else 2), len(group)))
    ]
    chance.shuffle(kept_texts)
    chance.shuffle(kept_pairs)
    return kept_texts, kept_pairs, dropped


def write(path: Path, items: Iterable[Item]) -> None:
    with gzip.open(path, "wt", encoding="utf-8") as out:
        for item in items:
            out.write(json.dumps(asdict(item), ensure_ascii=False) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--repos", type=Path, required=True, help="folder with one checkout per repository, owner+name")
    parser.add_argument(
        "--dictionaries", type=Path, required=True, help="folder with CC-CEDICT and the jamdict database"
    )
    parser.add_argument("--exclude", type=Path, help="measuring sets whose texts must not be trained on")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    texts, pairs, dropped = collect(options.repos, options.dictionaries, options.exclude)
    options.out.mkdir(parents=True, exist_ok=True)
    write(options.out / "passages.jsonl.gz", texts)
    write(options.out / "pairs.jsonl.gz", pairs)
    for name, counts in (
        ("passages", Counter((t.lang, t.genre, t.source) for t in texts)),
        ("pairs", Counter((p.langs, p.kind, p.source) for p in pairs)),
        ("dropped", Counter(dropped)),
    ):
        print(name, sum(counts.values()))
        for label, count in sorted(counts.items(), key=str):
            print("  ", label, count)


if __name__ == "__main__":
    main()
