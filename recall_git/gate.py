"""Decides whether a prompt is worth a search, and which part of it asks.

First step of the read side. Pure: standard library only, no I/O, linear time. Says nothing about
whether the notes hold an answer (``rank`` does), only whether there is a question: not in greetings,
thanks, confirmations, commands to the host, or text that a machine wrote (DESIGN F7). Closing on a
real question costs a recall, opening on small talk costs a search that ``rank`` ends, so a prompt is
closed only if every word of it is known to ask nothing.
"""

from __future__ import annotations

import json
import re
import unicodedata
from functools import lru_cache

from recall_git import guard
from recall_git.types import Verdict

QUERY_CHARS = 2000
"""Most characters of a query: beyond this a prompt is pasted material, and scoring gets slower, not better."""
HEAD_CHARS = 24_000
TAIL_CHARS = 8_000
"""How much of a very long prompt is read line by line: the asking stands before or after what is pasted."""
LINES_MAX = 3000
SENTENCES_MAX = 1500
"""How many lines are told apart, and how many sentences are weighed, of a long prompt."""
TALK_TOKENS = 48
"""Small talk is short; a longer text is not checked for being one."""
WIDTH_MIN = 4
"""Least width of a prompt (F7: under 4 characters); a Han, kana or Hangul character counts two."""

HUMAN_SOURCES = frozenset({"", "user", "sdk"})
"""Values of Claude Code's ``source`` that stand for a person (AGENT_HOOKS 1.1); others are timers and agents."""


def judge(prompt: str, *, source: str = "user") -> Verdict:
    """Return whether *prompt* asks something, and the text to search with (at most ``QUERY_CHARS``).

    ``why`` is ``ok`` or the rule that closed the gate: ``empty``, ``too-short``, ``greeting``,
    ``thanks``, ``confirmation``, ``small-talk``, ``command``, ``machine``. *source* is who wrote the
    prompt, as the host says. Blocks that hosts and memory tools inject are not part of the prompt.
    """
    if source.strip().lower() not in HUMAN_SOURCES:
        return Verdict(open=False, why="machine")
    if not prompt.strip():
        return Verdict(open=False, why="empty")
    text = _own_words(_window(prompt)).strip()
    if not text or _is_machine(text):
        return Verdict(open=False, why="machine")
    if _COMMAND.match(text):
        return Verdict(open=False, why="command")
    rule = _asks_nothing(text)
    if rule:
        return Verdict(open=False, why=rule)
    query = _query(text)
    if not query:
        return Verdict(open=False, why="machine")
    return Verdict(open=True, query=query, why="ok")


# What is not the user's own text ---------------------------------------------------------------

_STRIPPED = (
    "system-reminder", "hook_context", "user-prompt-submit-hook", "recall", "recall-git", "claude-mem-context",
    "hindsight_memories", "hindsight-memories", "relevant_memories", "relevant-memories", "memories", "memory",
    "memory_context", "memory-context", "mem0_context", "supermemory-context", "supermemory_context",
    "retrieved_context",
    "recalled_context", "recalled-context", "private", "environment_context", "user_instructions",
    "environment_details",
    "ide_opened_file", "ide_selection", "ide_diagnostics", "session-context", "persisted-output", "additional_context",
    "function_results", "system_reminder", "qwen:hook_context", "open_and_recently_viewed_files", "attached_files",
    "image_files", "system_notification", "timestamp", "editor_context", "cursor_commands", "manually_attached_skills",
)  # fmt: skip
"""Blocks that hosts and memory tools put around a prompt."""
_BLOCK = re.compile(rf"<({'|'.join(map(re.escape, _STRIPPED))})(?:\s[^<>\n]{{0,300}})?(/?)>", re.I)
_BRAIN = re.compile(r"^\s*🧠.*?(?:\n\s*\n|\Z)", re.M | re.S)
_HOOK_PREFIX = re.compile(r"^\s*\w{1,40} hook (?:additional context|success|feedback): .*$", re.M)


def _window(prompt: str) -> str:
    """Return *prompt*, or of a very long one its head, its tail and the lone questions between."""
    if len(prompt) <= HEAD_CHARS + TAIL_CHARS:
        return prompt
    head, tail = prompt[:HEAD_CHARS], prompt[-TAIL_CHARS:]
    asked: list[str] = []
    for found in _LONE_QUESTION.finditer(prompt, HEAD_CHARS, len(prompt) - TAIL_CHARS):
        asked.append(found[1])
        if len(asked) == 20:
            break
    if not asked and "\n" not in head[-400:] + tail[:400]:
        return head + tail  # if it is one line, only its ends count
    head, tail = head[: head.rfind("\n", HEAD_CHARS - 400)] or head, tail[tail.find("\n", 0, 400) + 1 :]
    return "\n\n".join((head, *asked, tail))


_LONE_QUESTION = re.compile(r"\n\n([^\n]{3,400}[?？])[ \t]{0,8}(?=\n)")


def _own_words(text: str) -> str:
    """Return *text* without injected blocks, our own digests among them."""
    if "<" in text:
        text = _without_blocks(text)
    start = text.find(guard.HEADER)
    while start >= 0:
        end = text.find(guard.FOOTER, start)
        text = text[:start] + (text[end + len(guard.FOOTER) :] if end >= 0 else "")
        start = text.find(guard.HEADER)
    if "🧠" in text:
        text = _BRAIN.sub("", text)
    if " hook " in text:
        text = _HOOK_PREFIX.sub("", text)
    return text


def _without_blocks(text: str) -> str:
    """Cut ``<name>…</name>`` for the known names.

    A block that is not closed goes on to the end if it begins a line; within a line it is a word of
    the prompt ('what does <system-reminder> mean?').
    """
    kept: list[str] = []
    done = at = 0
    lowered = text.lower()
    if len(lowered) != len(text):  # lower() can lengthen a text (İ); then positions would not agree.
        lowered = text
    unclosed: set[str] = set()
    while found := _BLOCK.search(text, at):
        at = found.end()
        closing = f"</{found[1].lower()}>"
        end = -1 if closing in unclosed or found[2] else lowered.find(closing, at)
        if end >= 0:
            at = end + len(closing)
        elif not found[2]:
            unclosed.add(closing)
            if text[text.rfind("\n", 0, found.start()) + 1 : found.start()].strip():
                continue
            at = len(text)
        kept.append(text[done : found.start()])
        done = at
    kept.append(text[done:])
    return "".join(kept)


# What a machine wrote ---------------------------------------------------------------------------

_MACHINE_TAG = re.compile(
    r"<(?:task-notification|command-name|command-message|command-args|local-command-\w+|bash-(?:input|stdout|stderr)"
    r"|tool_result|tool_use_error|teammate-message|cross-session-message|agent-message|agent-notification"
    r"|subagent\w*|cron|scheduled-task|autonomous-loop\w*|heartbeat|bg-task\w*|background-task\w*|shell-notification"
    r"|summary|analysis|turn_aborted|fork-boilerplate|tick|channel|session-resume|notification)\b",
    re.I,
)
_MACHINE_START = re.compile(
    r"(?:this session is being continued from a previous conversation"
    r"|\[request interrupted by user"
    r"|caveat: the messages below were generated"
    r"|please continue the conversation from where (?:we|you) left"
    r"|continue from where you left off\.?$"
    r"|(?:stop|pretooluse|posttooluse|subagentstop|userpromptsubmit|sessionstart) hook (?:feedback|blocking|error)"
    r"|api error: \d"
    r"|read heartbeat\.md"
    r"|heartbeat_ok"
    r"|<<autonomous-loop"
    r"|\[(?:cron|system|system message|system notification|suggestion mode|subagent|heartbeat|scheduled|loop|wakeup"
    r"|timer|image: source|automated|auto-continue|background task|task notification)\b[^\]\n]{0,120}\]"
    r"|system: \[\d{4}"
    r"|a new session was started via /"
    r"|pre-compaction memory flush"
    r"|your task is to create a detailed summary of the conversation"
    r"|(?:summarize|analyze) (?:this|the) (?:coding )?conversation"
    r"|analyze if this message indicates a new conversation"
    r"|base directory for this skill:"
    r"|another claude session sent"
    r"|the user (?:doesn't want to|has been asked|sent the following message)"
    r"|tool loaded\.$|unknown (?:slash )?command\b|(?:successfully )?compacted\b"
    r"|(?:background (?:task|command|agent)|(?:sub)?agent) [\"'`“]?[^\n]{0,120}(?:completed|finished|exited|failed)\b"
    r"|(?:scheduled|loop) wake-?up\b"
    r"|your previous (?:response|turn) was (?:interrupted|cut)"
    r"|\[?the (?:conversation|context) (?:was|has been) (?:compacted|summari[sz]ed))",
    re.I,
)
"""Openings of prompts that hosts write themselves (Claude Code, Codex, OpenClaw, Hermes; AGENT_HOOKS 1.1)."""

_LOG_LINE = re.compile(
    r"\s*(?:"
    r"[\[(]?\d{4}[-/.]\d{2}[-/.]\d{2}[T ,]{1,2}\d{2}:\d{2}|[\[(]?\d{2}:\d{2}:\d{2}"
    r"|[\[(]?\d{1,2}/\w{3}/\d{4}|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan"
    r"|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) +\d?\w+ +\d"
    r"|\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL|CRITICAL|NOTICE)\b\]?[:\s]|(?:npm|yarn|pnpm) (?:ERR!|WARN|error)"
    r"|at [\w.$<>\[\] ]{1,120}[( ]\S{0,200}:\d+|at (?:\S{1,200}:\d+|async )|\.{3} \d+ (?:more|frames?)"
    r"|File \"[^\"]{1,300}\", line \d+|Traceback \(most recent|During handling of the above|The above exception was"
    r"|Caused by:|Exception in thread|goroutine \d+|panic:|thread '[^']{0,80}' panicked|stack backtrace|note: run with"
    r"|\d{1,5}: +0x[0-9a-f]+|#\d+ +0x[0-9a-f]+|\d{1,4}:\s+\S+::\S+|\+0x[0-9a-f]|from \S{1,200}:\d+:in "
    r"|[\w.]{0,80}(?:Error|Exception|Warning|Interrupt)\b(?::|$)|(?:fatal|error|warning)(?:\[\w+\])?: "
    r"|\d{1,3}(?:\.\d{1,3}){3} - |[-=+*_#~^]{3,}\s*$|[|+][-+|=: ]{3,}$|E  +\S|FAILED |PASSED |ok \d+ - |not ok \d+"
    r"|(?:GET|POST|PUT|DELETE|HEAD|PATCH) /\S* (?:HTTP|\d{3}))"
)
_CODE_LINE = re.compile(
    r"(?:\s{2,}|\t)\S"
    r"|\s*(?:def |class |import |from \S+ import |return\b|if \(|for \(|while \(|const "
    r"|let |var |function\b|public |private "
    r"|static |#include|package |using |func |fn |struct |\}|\{|\)|\]|//|/\*|\*/|</?\w|@\w+|\$ |>>> )"
    r"|.*[;{},]\s*$|\s*[\"']?[\w.$-]+[\"']?\s*(?:[:=]|:=|\+=)\s*[\"'\[{(\d]"
)
_QUOTE_LINE = re.compile(r"\s{0,3}(?:>|\|)\s?")
_LIST_ITEM = re.compile(r"\s{0,12}(?:[-*+•・]|\d{1,3}[.)、])\s")
_FENCE_LINE = re.compile(r"\s{0,3}(`{3,}|~{3,})")


def _is_machine(text: str) -> bool:
    if text[0] == "<" and _MACHINE_TAG.match(text):
        return True
    return bool(_MACHINE_START.match(text)) or _is_json(text) or _is_log(text)


def _is_json(text: str) -> bool:
    """Tell whether the whole text is data: one JSON value, or one on each line."""
    if text[0] not in "{[" or text[-1] not in "}]":
        return False
    if len(text) > HEAD_CHARS:
        return text[1:40].lstrip()[:1] in '"{['
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        pass
    lines = text.splitlines()
    try:
        return len(lines) > 1 and all(isinstance(json.loads(line), dict | list) for line in lines if line.strip())
    except (ValueError, RecursionError):
        return False


def _is_log(text: str) -> bool:
    """Tell whether every line is a log line or a stack frame (or the source line below one)."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < 3 or not (_LOG_LINE.match(lines[0]) or _LOG_LINE.match(lines[1])):
        return False
    logged = 0
    for line in lines:
        if _LOG_LINE.match(line):
            logged += 1
        elif not _CODE_LINE.match(line):
            return False
    return logged * 2 >= len(lines)


_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?=\s|$)|!\s?[\w./~$(-]")

# What asks nothing ------------------------------------------------------------------------------

_TALK: dict[str, str] = {
    "greeting": """
i am doing well|im doing well|i am doing good|it is a pleasure to meet you|pleasure to meet you|ごきげんよう
お会いできて光栄です|お会いできてうれしいです|お会いできて嬉しいです|最近如何|欢迎|hi|hello|hey|hiya|heya|howdy|yo|sup
hi there|hello there|hey there|greetings|good morning|good afternoon|good evening|good day|good night|morning|evening
gm|gn|how are you|how are you doing|how are you today|how is it going|hows it going|how do you do|what is up|whats up
wassup|nice to meet you|are you there|anyone there|anybody there|you there|welcome back|hola|bonjour|hallo
happy new year|merry christmas|happy friday|have a nice day|have a good one|have a great day|bye|goodbye|bye bye
byebye|see you|see ya|see you later|see you tomorrow|see you soon|see you next week|cya|ttyl|talk to you later|later
farewell|take care|good weekend|have a good weekend|have a nice weekend|im back|i am back|brb|你好|您好|你好呀|嗨|哈喽
哈啰|哈罗|嘿|喂|早|早啊|早上好|早安|上午好|中午好|下午好|晚上好|晚安|大家好|各位好|在吗|在么|在不在|在嘛|有人吗
好久不见|再见|拜拜|拜|回见|回头见|明天见|下次见|待会见|一会见|回聊|先走了|下班了|新年快乐|周末愉快|幸会|初次见面
吃了吗|こんにちは|こんにちわ|こんばんは|こんばんわ|おはよう|おはようございます|おは|はじめまして|初めまして|やあ|やぁ
どうも|もしもし|ハロー|ヘイ|ハイ|お疲れ様|お疲れ様です|お疲れ様でした|お疲れさま|お疲れさまです|お疲れさまでした
おつかれ|おつかれさま|おつかれさまです|お疲れ|おつ|乙です|ご苦労様|ご苦労様です|ご苦労さま|よろしく|よろしくです
宜しく|よろしくお願いします|よろしくお願いいたします|よろしくお願い致します|宜しくお願いします|宜しくお願いいたします
宜しくお願い致します|よろしくお願い申し上げます|お世話になります|お世話になっております|お久しぶりです|久しぶり
さようなら|さよなら|またね|じゃあね|じゃね|ではまた|また明日|また後で|またあとで|また今度|バイバイ|おやすみ
おやすみなさい|失礼します|失礼いたします|ただいま|行ってきます|いますか|お元気ですか|元気ですか|いい天気ですね
今日もよろしく|明けましておめでとうございます|안녕|안녕하세요|午安|掰掰|再会|慢走|嗨喽|哈喽啊|有空再聊|下次聊|下次再聊
下次再见|改天聊|改天再聊|一会儿再聊|一会儿见|回头聊|见到你很高兴|很高兴见到你|很高兴认识你|最近怎么样|最近好吗
过得怎么样|你好吗|吃饭了吗|how are things|how are things going|how are things with you|how is everything
how have you been|how are you feeling|how is your day|hope you are well|are you having a good day|nice to see you
pleased to meet you|お邪魔します|調子はどう|調子はどうですか|お先に失礼します|良い一日を|よい週末を|お大事に
""",
    "thanks": """
thanks|thank you|thank u|thankyou|thx|tx|thnx|thanx|ty|tysm|tyvm|cheers|much appreciated|appreciated|i appreciate it
appreciate it|appreciate that|thanks a lot|thanks a bunch|thanks a million|thanks again|many thanks
thank you very much|thank you so much|thanks so much|thanks for your help|thanks for the help|thank you for your help
thanks for that|thanks for this|grateful|merci|danke|gracias|arigato|kudos|谢谢|谢谢你|谢谢您|谢谢大家|谢谢啦|谢谢了
谢啦|谢了|多谢|多谢啦|感谢|感谢你|感谢您|非常感谢|十分感谢|万分感谢|太感谢了|感激|感恩|感谢你的帮助|谢谢你的帮助
谢谢帮忙|谢谢帮助|谢谢指教|辛苦|辛苦了|辛苦啦|你辛苦了|您辛苦了|麻烦了|麻烦你了|有劳了|劳驾|谢|3q|3x|谢谢谢|ありがと
ありがとう|ありがとね|ありがとさん|ありがとうございます|ありがとうございました|ありがとうです|ありがたい
ありがたいです|有難う|有難うございます|有り難うございます|どうもありがとう|どうもありがとうございます
誠にありがとうございます|サンキュー|サンクス|せんきゅー|あざす|あざっす|あざます|感謝です|感謝します|感謝いたします
助かる|助かります|助かりました|助かった|恐れ入ります|恐縮です|お手数おかけします|お手数をおかけします|お手数ですが
고마워|감사합니다|帮了我大忙|帮大忙了|太谢谢了|真的谢谢|谢谢你了|感谢感谢|麻烦您了|really appreciate it
thanks for everything|you have been very helpful|that was helpful|very helpful|that helps|that helped
お世話になりました|大変助かりました|とても助かりました
""",
    "confirmation": """
ok|okay|okey|okie|kk|okok|oki|okie dokie|alright|all right|aight|yes|yeah|yea|yep|yup|ya|yah|yas|ye|aye|sure
sure thing|of course|certainly|definitely|absolutely|indeed|right|correct|exactly|precisely|agreed|agree|i agree
approved|approve|confirmed|confirm|affirmative|roger|copy that|10 4|do it|do that|do this|do so|do both|go ahead
go for it|go|go on|lets go|lets do it|lets do that|lets do this|go with it|go with that|make it so|ship it|send it
run it|apply it|commit it|push it|merge it|accepted|accept it|fine|fine by me|fine with me|thats fine|it is fine
thats ok|thats okay|thats right|thats correct|works for me|sounds good|sounds great|sounds right|sounds fine
sounds like a plan|looks good|look good|looks great|looks fine|looks right|looks correct|looks ok|lgtm|good|good to go
all good|good with me|good enough|perfect|great|please do|just do it|continue|continue please|proceed|keep going
carry on|move on|go on then|next|next one|next step|next please|continue from where you left off
from where you left off|where you left off|start now|lets start|lets begin|lets continue|lets move on|lets proceed
you may proceed|feel free|as you wish|as you like|as you prefer|up to you|you decide|your choice|your call|whatever
whatever you think|whatever you think is best|whatever works|you choose|i trust you|no|nope|nah|no thanks|no thank you
negative|not now|not yet|not really|not today|nay|never|never mind|nevermind|nvm|stop|stop it|stop that|stop here
stop now|cancel|cancel it|cancel that|wait|hold on|hang on|one moment|one sec|just a sec|just a moment|pause|dont
dont do it|dont do that|do not|leave it|leave that|leave it as is|leave it at that|skip|skip it|skip that|skip this
forget it|forget about it|ignore it|ignore that|undo|undo it|undo that|undo this|revert it|revert that|try again
try it again|retry|redo|redo it|again|once more|one more time|do it again|run it again|maybe|perhaps|possibly|i guess
i guess so|i think so|i dont think so|i suppose|probably|idk|i dont know|dont know|dunno|not sure|im not sure
i am not sure|no idea|maybe later|done|finished|its done|all done|im ready|it works|works|it works now|works now
that works|that worked|it worked|thats it|thats all|thats all for now|thats enough|enough|nothing|nothing else|none
none of them|neither|both|both of them|both please|either|either one|all|all of them|all of it|everything|the first
the second|the third|the last|the first one|the second one|the third one|the last one|first one|second one|third one
last one|this one|that one|the former|the latter|the other one|the left one|the right one|the top one|the bottom one
got it|gotcha|i see|understood|i understand|i understand now|i get it|noted|makes sense|that makes sense|fair
fair enough|true|its fine|no problem|no worries|np|no prob|dont worry|dont bother|i know|i did|i do|i will|will do
on it|please|pls|plz|please go on|as planned|as is|like that|like this|just like that|same|same here|me too|si|da|oui
ja|yessir|yes sir|好|好的|好滴|好哒|好嘞|好咧|好吧|好呀|好啊|好呢|好了|好哦|行|行吧|行的|行啊|行了|可以|可以的|可以了
可以吧|没问题|没事|没事了|没关系|没有|没有了|没了|无妨|嗯|嗯呢|恩|唔|哼|噢|哦|喔|对|对的|对啊|对呀|对了|对吧|是|是的
是啊|是呀|是吧|没错|正确|确实|确定|当然|当然可以|必须的|必须|同意|赞同|赞成|批准|就这样|就这样吧|就这么办|就这么做
就这么定了|就这么干|就这个|就按这个|就按这个来|按你说的做|按你说的|按你说的来|照做|照你说的做|按照你说的做|听你的
听您的|你决定|你定|你来定|你来决定|你看着办|看着办|你来|随便|随你|随意|都行|都可以|都好|无所谓|怎么都行|继续吧|接着
接着来|接着说|接着做|接着干|往下|往下走|往下说|往下做|下一步|下一个|下一项|下一条|进行|进行吧|执行吧|执行继续|开始吧
开始做|动手|动手吧|做吧|干吧|来吧|来|上吧|走吧|搞吧|搞起|冲吧|弄吧|去做吧|去吧|改吧|不|不了|不用|不用了|不必|不必了
不需要|不需要了|不要了|不是|不是的|不对|不行|不可以|不好|不同意|不确定|不知道|不清楚|不一定|否|别|别做|别弄|停|停下
停一下|等等|等一下|等下|等会|稍等|稍等一下|稍后|先等等|先这样|先这样吧|先不|先不用|先别|算了|算了吧|再试|再试试
再试一次|再来|再来一次|再来一遍|再做一次|重试|重来|重新来|重新来过|重做|明白|明白了|懂|懂了|懂的|知道了|知道|晓得
晓得了|收到|了解|了解了|清楚|清楚了|理解|理解了|原来如此|原来是这样|有道理|也许|可能|可能吧|应该是|应该吧|大概|大概吧
或许|完成|完成了|搞定|搞定了|做完了|弄好了|两个|两个都要|两个都行|都要|全都要|都不要|都不|第一个|第二个|第三个|第四个
最后一个|前者|后者|前一个|后一个|这个|那个|选这个|选那个|方案一|方案二|方案三|方案1|方案2|选项一|选项二|选第一个
选第二个|选第三个|用第一个|用第二个|要的|有的|能的|成交|妥了|得嘞|没意见|好使|成功了|能用了|可以用了|はい|はいはい
うん|うんうん|ええ|ああ|そう|そうです|そうですね|そうだね|そうだよ|そうですか|そうなんだ|そうなんですね|そうそう
そっか|そうか|そうしてください|そうして|そうしましょう|いいえ|いえ|いえいえ|いや|いやいや|いいえ結構です|結構です|結構
ちがう|違う|違います|違いますね|だめ|ダメ|駄目です|いいです|いいよ|いいですよ|いいね|いいですね|良いです|良いですね
よい|よいです|いい|良い|よし|よっし|良さそう|良さそうです|良さそうですね|よさそう|よさそうです|いいと思います
良いと思います|それでいい|それでいいです|それで|それでお願いします|それで大丈夫|それで大丈夫です|それでok|これで
これでお願いします|これでいい|これでいいです|この通り|その通り|その通りです|そのとおり|そのとおりです|おっけー|おけ
おk|おけです|オッケー|オッケーです|オーケー|了解です|了解しました|了解いたしました|りょうかい|りょうかいです|りょ|承知
承知しました|承知いたしました|承知です|かしこまりました|畏まりました|わかった|わかりました|わかる|わかります|分かった
分かりました|分かります|分かる|わかってる|理解しました|理解です|把握しました|なるほど|なるほどね|なるほどですね|確かに
たしかに|もちろん|もちろんです|勿論|問題ない|問題ないです|問題ありません|問題なし|大丈夫|大丈夫です|だいじょうぶ
だいじょうぶです|平気|続けて|続けてください|続けて下さい|続けましょう|続けてくれ|続き|続きを|続きお願いします
続きをお願いします|続行|続行してください|次|次へ|次に|次お願いします|次をお願いします|次に進んで|次に進んでください
次へ進んで|進めて|進めてください|進めて下さい|進めてほしい|進めましょう|どうぞ進めてください|先に進んで|進んで
進んでください|お願い|お願いします|お願いいたします|お願い致します|おねがい|おねがいします|頼む|頼みます|頼んだ|やって
やってください|やって下さい|やってくれ|やってみて|やってみてください|やりましょう|やろう|実行して|実行してください
実行お願いします|始めて|始めてください|始めましょう|開始してください|どうぞ|どうぞどうぞ|やめて|やめてください|やめる
止めて|止まって|中止して|キャンセルして|待って|待ってください|ちょっと待って|ちょっと待ってください|少し待って
少々お待ちください|後で|あとで|まだ|まだです|まだいい|いらない|いらないです|要らない|不要です|必要ない|必要ないです
必要ありません|しない|しないで|もう一度|もういちど|もう一回|もう1回|もう一度お願いします|もう一回やって|もう一度やって
再度|再度お願いします|やり直して|元に戻して|両方|両方とも|両方で|全部で|すべて|最初の|最初のほう|最初のほうで|最後の
後者|前者で|後者で|どちらでも|どちらでもいい|どちらでもいいです|どっちでも|どれでも|なんでもいい|何でもいい
なんでもいいです|任せる|任せます|おまかせ|お任せ|お任せします|おまかせします|知らない|わからない|わかりません
分からない|分かりません|知りません|たぶん|多分|かも|かもしれない|できた|できました|終わった|終わりました|完了です
完了しました|動いた|動きました|直りました|うまくいきました|うまくいった|承認します|賛成|賛成です|同意します|異議なし
네|예|응|아니요|알겠습니다|begin|accept|ready|exit|quit|abort|resume|合并吧|提交吧|推吧|执行|回退|还原|撤销|撤回|忽略
跳过|取消|暂停|停止|解释一下|帮忙|救命|开始|继续|全部|所有|キャンセル|ストップ|説明して|教えて|助けて|戻して|やり直し
リトライして|不认同|否定|拒绝|不要这样|错了|不是这样|不是这样子|不是这样的|不是这样子的|是这样|是这样的|是这样子
是这样子的|的确|的确是|的确如此|听起来不错|听起来很好|看起来不错|看起来没问题|看着没问题|看上去不错|还行|我同意
我不同意|我反对|反对|你的观点|我不想|我不要|不想|就说这么多|到此为止|就到这|就到这里|说得对|说的对|有理|赞成票|go back
stop go back|right on|i dont care|dont care|that does not work for me|this does not work for me
that doesnt work for me|i disagree|disagree|i object|wrong|thats wrong|that is wrong|incorrect|not quite|not exactly
thats not it|thats not right|no way|間違い|間違いです|間違ってます|反対です|気にしない|その方向で
その方向でお願いします|その方針で|その方針でお願いします|問題なさそう|問題なさそうです|了解でーす
""",
    "small-talk": """
not much|nothing much|没什么|没啥|何もない|特にない|特にないです|別に|元気だよ|元気です|thanks for asking|cool|nice
wow|awesome|amazing|excellent|fantastic|brilliant|wonderful|superb|neat|sweet|dope|lovely|impressive|good job
great job|nice job|well done|good work|great work|nice work|awesome work|excellent work|good stuff|great stuff
nice one|love it|i love it|i like it|like it|beautiful|bravo|congrats|congratulations|you rock|youre the best
you are the best|youre awesome|youre great|good bot|bad bot|haha|hahaha|hehe|hihi|lol|lmao|rofl|xd|omg|wtf|ikr|oh|ah
aha|ahh|uh|um|hm|hmm|huh|mhm|mm|ooh|oops|ouch|yay|woohoo|hooray|ugh|meh|phew|damn|oh no|oh well|oh ok|oh i see
interesting|thats interesting|thats great|thats awesome|thats cool|thats nice|thats amazing|thats perfect|sorry
im sorry|my bad|my mistake|apologies|excuse me|pardon|youre welcome|you are welcome|anytime|no rush|take your time
im tired|im bored|im busy|im here|im good|im fine|im ok|good for you|same to you|you too|who are you|what are you
what is your name|whats your name|what can you do|are you real|are you human|are you an ai|are you a bot|are you sure
are you serious|are you ok|are you done|are you ready|you sure|sure about that|really|seriously|is that so
is that right|is that true|why|why not|how|how so|how come|what|what now|now what|what next|whats next|what else
anything else|so what|and then|then what|what then|and|so|when|where|who|which|which one|what do you mean
what does that mean|what was that|what is that|what is this|whats that|whats this|can you do it|can you do that
can you|could you|could you do it|do you understand|understand|did you do it|did it work|does it work|is it done
is it ready|is it working|are we done|how did it go|tell me more|say more|more|explain more|please elaborate|go deeper
i dont understand|i dont get it|tell me a joke|tell me a story|sing me a song|help me|can you help|can you help me
i need help|please help|please help me|哈|哈哈|哈哈哈|呵呵|嘿嘿|嘻嘻|嘎嘎|哇|哇塞|哇哦|啊|呀|哎|哎呀|唉|诶|呃|嗯哼
天哪|天啊|我去|卧槽|牛|牛啊|牛逼|牛批|厉害|厉害了|太厉害了|真厉害|太强了|真棒|太棒了|很棒|棒|棒极了|点赞|不错|不错不错
很不错|挺好|挺好的|很好|非常好|太好了|真好|完美|优秀|漂亮|干得好|干得漂亮|干得不错|做得好|做得不错|好厉害|好棒|好耶
666|yyds|nb|酷|绝了|有意思|有趣|真有趣|恭喜|加油|爱了|么么哒|美滋滋|对不起|抱歉|不好意思|不客气|别客气|没关系的|客气了
应该的|你是谁|你是什么|你叫什么|你叫什么名字|你能做什么|你会什么|你会做什么|你能干什么|你是机器人吗|你是人吗|你确定
你确定吗|确定吗|真的|真的吗|真的假的|是吗|是么|对吗|好吗|行吗|可以吗|为什么|为啥|怎么|怎么了|怎么办|怎么回事|什么
什么意思|啥意思|什么情况|然后|然后呢|所以|所以呢|还有|还有吗|还有呢|接下来|接下来呢|那呢|哪个|哪一个|几点|多少
为什么呢|凭什么|怎么说|怎么讲|怎么样|如何|好了吗|完了吗|做完了吗|完成了吗|成功了吗|懂吗|明白吗|在干嘛|在干什么|干嘛
讲个笑话|说个笑话|说说|再说说|多说点|详细点|详细说说|具体点|具体说说|展开说说|帮我|帮帮我|帮个忙|我累了|好累|无聊
加油吧|すごい|すごいね|すごいですね|すげー|すげえ|凄い|凄いです|さすが|さすがです|さすがですね|素晴らしい
素晴らしいです|すばらしい|素敵|素敵です|完璧|完璧です|パーフェクト|最高です|最高だ|バッチリ|ばっちり|バッチリです
ばっちりです|ナイス|ナイスです|グッド|いい感じ|いい感じです|いい感じですね|良い感じ|良い感じです|よくできました|上出来
えらい|偉い|嬉しい|うれしい|やった|やったね|おめでとう|おめでとうございます|面白い|おもしろい|面白いですね|笑笑|ワロタ
www|ww|はは|ははは|ふふ|へへ|えへへ|あはは|へえ|へー|ほう|ほー|ほお|ふーん|ふうん|ふむ|ふむふむ|えっ|え|ええと|えーと
えと|あの|あのー|あー|あ|おー|おお|うーん|うむ|んー|うわ|わー|わあ|げっ|まじ|まじか|マジ|マジか|マジで|ほんと|ほんとに
本当|本当に|本当ですか|ほんとう|うそ|嘘|やばい|すみません|すいません|済みません|ごめん|ごめんね|ごめんなさい
申し訳ない|申し訳ありません|申し訳ございません|どういたしまして|いえいえこちらこそ|こちらこそ|気にしないで
気にしないでください|ドンマイ|がんばって|頑張って|頑張ってください|あなたは誰|あなたは誰ですか|君は誰|お名前は
何ができる|何ができるの|何ができますか|なぜ|なぜですか|なんで|なんでですか|何故|どうして|どうしてですか|何|なに
何ですか|なんですか|何それ|なにそれ|どういうこと|どういうことですか|どういう意味|どういう意味ですか|どう|どうですか
どうする|どうしよう|どうしましょう|どれ|どっち|どちら|どこ|誰|だれ|いつ|それから|で|つまり|というと|例えば|他には|他に
ほかには|ほかに|次は|もっと|もっと詳しく|詳しく|くわしく|教えてください|疲れた|眠い|できますか|できる|いいの
いいですか|大丈夫ですか|よろしいですか|合ってる|合ってますか|わかりますか|ここまで|ジョークを言って|你是哪位|你哪位
请问你是谁|这是谁|这是谁啊|我认识你吗|我知道你吗|你的名字|告诉我你的名字|你有什么功能|你支持什么功能|你有什么用
你会说中文吗|我爱你|喜欢你|i love that|i love you|i like that|do you feel good|are you a human|are you alive|robot|pal
mister|who made you|who created you|how old are you|where are you from|do you speak english|do you like me|my mistakes
my fault|好きです|大好き|名前は|あなたの名前は|何歳|何歳ですか|日本語わかる|日本語わかりますか
""",
    "filler": """
a|an|the|it|its|that|thats|this|these|those|i|im|id|ive|me|my|you|your|youre|we|us|our|he|she|they|them|there|here|is
are|was|were|be|been|do|does|did|have|has|had|can|could|will|would|should|may|might|must|shall|to|of|in|on|at|for|with
by|from|as|or|but|if|then|than|too|also|just|now|well|very|quite|pretty|much|most|some|any|not|still|yet|already|ahead
away|up|out|lets|let|s|re|ll|ve|t|d|m|man|mate|bro|dude|buddy|friend|sir|boss|guys|folks|everyone|everybody|today
tonight|tomorrow|best|better|way|thing|things|one|ones|two|three|four|first|second|third|last|other|another|lot|like
think|guess|know|see|want|need|get|got|make|say|said|mean|come|take|give|use|choose|pick|option|choice|number|only
about|because|since|though|anyway|btw|actually|basically|totally|super|perfectly|extremely|incredibly|吧|呢|啦|嘛|了
的|么|吗|你|您|我|它|他|她|我们|你们|咱们|这|那|就|再|请|先|也|都|还|很|太|真|那就|那么|就是|这样|那样|这么|一下|一点
一起|现在|马上|立刻|今天|非常|十分|特别|可是|但是|不过|因为|而且|选|用|帮|给|让|吧吧|老师|老板|大佬|兄弟|朋友|同学|哥
姐|各位|大家|按|照|做|说|看|个|第|一|二|三|四|号|です|ですね|ですよ|ですか|ます|ました|でした|ね|よ|な|わ|ぞ|か|の|は
を|に|と|も|が|さ|じゃ|じゃあ|では|では次|それじゃ|それでは|とりあえず|まず|番|ください|下さい|これ|それ|あれ|この
その|こっち|そっち|あっち|ちょっと|少し|もう|すぐ|今|今日|また|とても|さん|皆さん|みなさん|方|一つ|二つ|番目|選択|だ
だね|だよ|けど|でも|して|する|した|してください|なら
""",
    "alone": """
test|testing|testing 123|ping|hello world|foo|bar|foobar|asdf|qwerty|blah|help|explain|elaborate|apply|start|测试
测试测试|测试一下|确认|通过|支持|解释|成|中|妥|得|强|赞|亲|宝|要|有|能|可|谁|走|冲|啥|欸|额|6|k|n|y|テスト|テストです
確認|開始|実行|中止|完了|承認|最高|笑|草|乙|w|ん|む|お|げ|ヘルプ|再試行|把握|不要|感謝|元気|暇
""",
}
"""Phrases that ask nothing, by kind. ``filler`` asks nothing beside any of them. ``alone`` does only as the whole
prompt or beside the other kinds: next to a filler such a word has a meaning of its own ('成' + '都' is a city)."""
_ADDRESSEES = ("claude", "codex", "gpt", "chatgpt", "gemini", "cursor", "copilot", "assistant", "bot", "ai")
_ADDRESSING = (
    "hi", "hello", "hey", "hi there", "good morning", "good evening", "good night", "morning", "thanks", "thank you",
    "ok", "okay", "yes", "no", "sorry", "great", "good job", "great job", "well done", "nice work", "bye", "dear", "yo",
)  # fmt: skip
"""'thanks claude' is thanks; the name by itself ('copilot?') may be what is asked about."""
_PRIORITY = ("thanks", "confirmation", "greeting", "small-talk")
"""Which rule is named when a prompt is of several kinds: 'ok thanks, go on' is thanks."""

_SIMPLER = str.maketrans(
    "謝見繼續沒問題確認對請開執進點擇選個們過為麼嗎這還來時後會說話應當貼煩勞厲讚優樣試銷別臨幫儘隨決聽處準備錯誤無關係讓實現體動結學師邊兩將運轉給萬惡瞭辦幹嘍囉嘆",
    "谢见继续没问题确认对请开执进点择选个们过为么吗这还来时后会说话应当贴烦劳厉赞优样试销别临帮尽随决听处准备错误无关系让实现体动结学师边两将运转给万恶了办干喽啰叹",
)
"""Traditional characters of the phrases above; applied to phrases and prompts alike, so Japanese loses nothing."""
_TOKEN = re.compile(r"[a-z0-9']+|[^\W_]", re.I)
_ELONGATED = re.compile(r"(.)\1{2,}")
_TRAILING = re.compile(r"(.)\1+$")
_LENGTHENERS = re.compile("[ー〜~～っッぁぃぅぇぉ]")
_LETTER_CHOICE = re.compile(r"(?:[a-h]|\d{1,2}|[a-h]\d)\Z")
_WIDE = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")
_ACRONYM = re.compile(
    r"(?=[^a-z]*[A-Z])(?:[A-Z0-9][A-Z0-9+#.&/-]{1,2}|[A-Z][+#]{1,2}|[A-Z][a-z]?\d|[A-Za-z]\d[a-z]?)\Z"
)


@lru_cache(maxsize=1)
def _phrases() -> tuple[dict[tuple[str, ...], str], int]:
    """Return ``phrase tokens → kind`` and the length of the longest phrase; built at first use."""
    table: dict[tuple[str, ...], str] = {}
    for kind, text in _TALK.items():
        for phrase in re.split(r"[|\n]", text):
            if phrase:
                table.setdefault(tuple(_tokens(phrase)), kind)
    for greeting in _ADDRESSING:
        for name in _ADDRESSEES:
            table.setdefault((*greeting.split(), name), table.get(tuple(greeting.split()), "greeting"))
    return table, max(map(len, table))


def _tokens(text: str) -> list[str]:
    """Return Latin words and single other letters, lower case, without what only lengthens them."""
    text = unicodedata.normalize("NFKC", text).lower().replace("’", "'")
    text = _LENGTHENERS.sub("", text.translate(_SIMPLER))
    return [token.replace("'", "") for token in _TOKEN.findall(text) if token != "'"]


def _asks_nothing(text: str) -> str:
    """Return the rule by which *text* asks nothing, or '' if it may ask something."""
    if len(text) > 40 * TALK_TOKENS:
        return ""
    letters = re.sub(r"[\W_]+", "", text)
    if not letters:
        return "too-short"
    kind = _talk(text)
    if kind:
        return kind
    bare = re.sub(r"^[^\w]+|[^\w+#]+$", "", text)
    if len(letters) + len(_WIDE.findall(letters)) < WIDTH_MIN and not _ACRONYM.match(bare):
        return "too-short"
    return ""


def _talk(text: str) -> str:
    """Return the kind of small talk that *text* wholly consists of, or ''."""
    words = _tokens(text)
    if not words or len(words) > TALK_TOKENS:
        return ""
    table, longest = _phrases()
    # best[i]: the kinds seen on the way to word i, by the fewest filler words; None: not reachable.
    best: list[frozenset[str] | None] = [frozenset()] + [None] * len(words)
    for start in range(len(words)):
        seen = best[start]
        if seen is None:
            continue
        for size in range(min(longest, len(words) - start), 0, -1):
            kind = _kind(tuple(words[start : start + size]), table)
            known = best[start + size]
            if kind and (known is None or known == frozenset({"filler"})):
                best[start + size] = seen | {kind}
    kinds = best[-1]
    if kinds is None or {"alone", "filler"} <= kinds:
        return ""
    return next((kind for kind in _PRIORITY if kind in kinds), "small-talk")


def _kind(words: tuple[str, ...], table: dict[tuple[str, ...], str]) -> str:
    kind = table.get(words)
    if kind or len(words) > 1:
        return kind or ""
    word = words[0]
    for shorter in (_ELONGATED.sub(r"\1", word), _ELONGATED.sub(r"\1\1", word), _TRAILING.sub(r"\1", word)):
        if (shorter,) in table:
            return table[shorter,]
    if _LETTER_CHOICE.match(word) or re.fullmatch(r"(?:ha){2,}h?|(?:he){2,}|(?:lo)+l|w{2,}|6{2,}|(?:ja){2,}", word):
        return "confirmation" if len(word) <= 2 else "small-talk"
    return ""


# What asks --------------------------------------------------------------------------------------

_SENTENCE = re.compile(r"[^\n.!?。！？;；]+(?:[.;](?=\S)[^\n.!?。！？;；]+)*[.!?。！？;；]*\n?|[.!?。！？;；\n]+")
_CLAUSE = re.compile(r"[,，、。.!！?？;；:\n—–-]+\s*")
_ASKING = re.compile(
    r"[?？]|(?<![a-z])(?:why|how|what|when|where|who|whose|which|can you|could you|should|is there|are there|do we"
    r"|does|did we|please|fix|add|make|write|explain|find|show|tell|help|check|review|update|remove|rename"
    r"|refactor|implement|deploy|i want|i need|we need|let's|try to)(?![a-z])"
    r"|为什么|为何|怎么|如何|什么|哪|谁|多少|是否|能不能|吗|请|帮我|修|改|加|写|解释|检查|优化|删"
    r"|なぜ|なんで|どう|何|いつ|どこ|誰|どれ|どの|教えて|ください|下さい|直して|追加|修正|説明|ですか|ますか|したい|してほしい",
    re.I,
)
_IDENTIFIER = re.compile(
    r"(?<![\w.])(?:[A-Za-z_][\w]*(?:[._/:-][\w]+)+|[a-z]+[A-Z]\w*|[A-Z][a-z]+[A-Z]\w*|[A-Za-z]+_\w+|[A-Z]{2,}\d*)(?!\w)"
)
_ERROR = re.compile(r"(?:[\w.]*(?:Error|Exception)\b|error|fatal|panic|failed|FAILED|错误|失败|エラー|失敗)", re.I)
_STAMP = re.compile(r"^\s*[\[(]?\d[\d\-/:.,TZ+ \])]{5,40}(?:\[?(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|FATAL)\]?:?\s)?")
LONG_LINE = 400
"""Characters of a line from which on it may be a log or a file that was pasted beside the question."""
END_CHARS = 400
"""How far a question is looked for from either end of such a line."""
_DATA = re.compile(r"[!-~]{80,}|[!-@\[-`{-~]+")
_ODD_TOKEN = re.compile(r"\d[^\d\s]\d|\d{6}|[{}\[\]=;<>\"]|[!-~]{40}")
_WORD_BEFORE, _WORD_AFTER = re.compile(r"\A\w*[^\W\d][?？!！。.]*"), re.compile(r"[^\W\d]\w*[?？!！。.]*\Z")
BORROWED_CHARS = 400
"""Most characters that are taken from pasted material: what it failed with, or what the question names."""


def _query(text: str) -> str:
    """Return the asking part of *text*: prose before pasted material, questions before prose."""
    prose, pasted = _divide(text)
    if pasted:
        spoken = _without_talk(prose)
        borrowed = _borrow(spoken, pasted)
        text = "\n".join(part for part in (spoken, borrowed) if part) or _tight("\n".join(pasted)[:QUERY_CHARS])
    else:
        text = _without_talk(prose)
    return _shorten(_tight(text))


def _divide(text: str) -> tuple[str, list[str]]:
    """Return the prose of *text* and the lines that were pasted: fences, quotes, logs, code."""
    if "\n" not in text and len(text) <= LONG_LINE:
        return text, []
    prose: list[str] = []
    pasted: list[str] = []
    beside: list[tuple[int, str]] = []
    fence = ""
    lines = text.split("\n")
    if len(lines) > LINES_MAX:
        lines = lines[: LINES_MAX * 3 // 4] + lines[-LINES_MAX // 4 :]
    odd = [_is_odd(line) for line in lines]
    for at, line in enumerate(lines):
        mark = _FENCE_LINE.match(line)
        if mark and (not fence or mark[1][:3] == fence):
            fence = "" if fence else mark[1][:3]
            prose.append("")
        elif fence or _QUOTE_LINE.match(line) or (_in_a_row(odd, at) and not line.rstrip().endswith(("?", "？"))):
            pasted.append(line)
        elif len(line) > LONG_LINE and _is_data(line):
            ends = _ends(line)
            beside += [(len(prose), end) for end in ends]
            (prose if ends else pasted).append("" if ends else line)
        else:
            prose.append(line)
    asking = [pair for pair in beside if _ASKING.search(pair[1])]
    for at, end in asking or ([] if any(line.strip() for line in prose) else beside):
        prose[at] = f"{prose[at]}\n{end}".strip()
    return "\n".join(prose), [line for line in pasted if line.strip()]


def _is_data(line: str) -> bool:
    """Tell a log, JSON or minified code on one line from a paragraph: a fifth of it is digits and signs."""
    return 5 * sum(map(len, _DATA.findall(line))) > len(line)


def _ends(line: str) -> list[str]:
    """Return what is said before the data of *line* and after it: whole words up to where data begins."""
    before = _spoken(line[:END_CHARS].split(), _WORD_BEFORE)
    after = _spoken(line[-END_CHARS:].split()[::-1], _WORD_AFTER)[::-1]
    return [" ".join(words) for words in (before, after) if words]


def _spoken(tokens: list[str], edge: re.Pattern[str]) -> list[str]:
    """Return the first of *tokens* up to where two of three are data; of the one that ends it, the word at its edge."""
    odd = [bool(_ODD_TOKEN.search(token)) for token in tokens]
    for at, is_odd in enumerate(odd):
        if is_odd and (sum(odd[at : at + 3]) > 1 or at + 3 >= len(odd)):
            word = edge.search(tokens[at])
            return tokens[:at] + ([word[0]] if word else [])
    return tokens


def _is_odd(line: str) -> bool:
    return not _LIST_ITEM.match(line) and bool(_LOG_LINE.match(line) or _CODE_LINE.match(line))


def _in_a_row(odd: list[bool], at: int) -> bool:
    """Tell pasted lines from a list, or a sentence that ends with a comma: they come in threes."""
    return odd[at] and sum(odd[max(0, at - 2) : at + 3]) >= 3


def _borrow(prose: str, pasted: list[str]) -> str:
    """Return the few pasted lines that the question is about: its identifiers, else the error."""
    named = {found for found in _IDENTIFIER.findall(prose[:QUERY_CHARS]) if len(found) > 2}
    wanted: list[str] = []
    if named:
        pattern = re.compile("|".join(map(re.escape, sorted(named)[:20])))
        wanted = [line for line in pasted if pattern.search(line)][:2]
    content = [word for word in _tokens(prose[:QUERY_CHARS]) if len(word) > 3 or not word.isascii()]
    if not wanted and len(content) < 6:
        errors = [line for line in pasted if _ERROR.search(line)]
        # The last error is the outcome; without prose and error the first line says best what was pasted.
        wanted = errors[-2:] or ([] if content else pasted[:1])
    return "\n".join(_STAMP.sub("", line).strip()[: BORROWED_CHARS // 2] for line in wanted)


def _without_talk(text: str) -> str:
    """Return *text* without leading clauses that ask nothing ('thanks — now …')."""
    text = text.strip()
    for _ in range(4):
        found = _CLAUSE.search(text, 0, 80)
        if not found or found.end() >= len(text) or not _talk(text[: found.start()]):
            return text
        if found.start() == 0 or _kind_of_lead(text[: found.start()]) == "":
            return text
        text = text[found.end() :]
    return text


def _kind_of_lead(clause: str) -> str:
    """Return the kind of *clause* if it may be dropped; a lone 'no', '8080' or 'why' changes what follows."""
    words = _tokens(clause)
    if len(words) == 1 and (words[0].isdigit() or (len(words[0]) == 1 and words[0].isascii())):
        return ""
    return _talk(clause)


def _tight(text: str) -> str:
    return re.sub(r"[ \t\r\f\v\u3000]+", " ", re.sub(r"\s*\n\s*", "\n", guard.plain(text))).strip()


def _shorten(text: str) -> str:
    """Return at most ``QUERY_CHARS`` of *text*: the sentences that ask most, in their order."""
    if len(text) <= QUERY_CHARS:
        return text
    sentences: list[str] = [found for found in _SENTENCE.findall(text) if found.strip()]
    if len(sentences) > SENTENCES_MAX:
        sentences = sentences[: SENTENCES_MAX // 2] + sentences[-SENTENCES_MAX // 2 :]
    last = len(sentences) - 1
    weights = [_weight(sentence, at, last) for at, sentence in enumerate(sentences)]
    ranked = sorted(range(len(sentences)), key=lambda at: (-weights[at], at))
    chosen: list[int] = []
    room = QUERY_CHARS
    for at in ranked:
        if weights[at] == 0 and chosen:
            break  # What neither asks nor opens nor closes the prompt only dilutes the query.
        if len(sentences[at]) <= room:
            chosen.append(at)
            room -= len(sentences[at])
        if room < 16:
            break
    if not chosen:
        return sentences[ranked[0]][:QUERY_CHARS].strip()
    return "".join(sentences[at] for at in sorted(chosen)).strip()


def _weight(sentence: str, at: int, last: int) -> float:
    weight = 3.0 * bool("?" in sentence or "？" in sentence) + 2.0 * bool(_ASKING.search(sentence))
    weight += 1.0 * bool(_IDENTIFIER.search(sentence))
    # People ask in the first or the last paragraph, and most often in the last sentences.
    return weight + 2.0 * (at <= 1) + 2.5 * (at >= last - 2)
