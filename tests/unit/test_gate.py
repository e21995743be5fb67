"""The gate lets questions through and stops everything that asks nothing.

Each list has two halves. The tuning half may be looked at while the gate's vocabulary is written; the
held-out half was written before the gate was, and words were never added to the gate because of it.
"""

from __future__ import annotations

import json
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recall_git import digest, gate
from recall_git.types import Document, Slots, Verdict


def _lines(text: str) -> list[str]:
    return [line for line in text.strip().split("\n") if line]


HELD_CLOSED = {
    "en": """
hello there
good afternoon!
hey hey
hi claude, how are you?
morning :)
thanks!
thank you very much
thxxxx
tysm
much appreciated
great, thank you so much!
cheers mate
okay
okkkk
yep
yup, go ahead
sounds good to me
perfect
lgtm
looks good, ship it
yes please
yes, do that
no
nope
nah, leave it
not now
continue
please continue
keep going
go on then
proceed
carry on with it
ok thanks, go on
awesome work
nice!!
haha
lol ok
hmm
I see
got it
makes sense
never mind
that's all for now
see you tomorrow
good night
bye bye
option 2
the first one please
both
why?
really?
👍👍
...
y
2
try again please
are you there?
I'm not sure
up to you
well done, that works great
""",
    "zh": """
你好
您好呀
早上好
嗨，在吗？
晚上好！
哈喽
谢谢
谢谢啦
非常感谢
多谢多谢
辛苦啦
感谢你的帮助
好的
好的好的
好嘞
行
可以的
没问题
嗯嗯
对
是的
没错
就这样吧
好的继续吧
继续
请继续
接着来
继续执行
下一步
同意
确认
不用了
不是
算了
先这样
不要
随便
都可以
选第二个
第一个
哈哈哈哈
666
牛啊
厉害了
太棒了！
干得漂亮
不错不错
明白了
知道了
收到
了解
原来如此
再见
晚安
拜拜
明天见
ok 谢谢
好，谢谢，继续
为什么？
真的吗？
然后呢
你是谁
没事了
""",
    "ja": """
こんにちは
おはようございます
こんばんは
はじめまして
やあ
お疲れ様です
お疲れさまでした！
よろしくお願いします
よろしくお願いいたします。
どうぞよろしく
ありがとう
ありがとうございます！
ありがとうございました
どうもありがとう
サンキュー
助かりました
感謝です
はい
はい、お願いします
うん
ええ
いいえ
いや、いいです
いらない
OKです
オッケー
了解
了解です
了解しました
承知しました
かしこまりました
わかりました
わかった
なるほど
そうですね
そうです
その通り
いいですね
いいよ
大丈夫です
問題ありません
続けて
続けてください
続きをお願いします
次へ
どうぞ進めてください
それでお願いします
やってください
すごい！
素晴らしいです
完璧です
最高
笑
www
ははは
さようなら
おやすみなさい
また明日
なぜ？
本当に？
2番で
最初のほうで
お任せします
""",
}

HELD_OPEN = {
    "en": """
deploy?
postgres port
why did we drop Redis
continue the migration of the auth service
thanks — now what was the staging URL?
ok, which port does staging use?
CI?
how do I rotate the signing key
fix the flaky login test
add retries to the webhook sender
what did Alice say about the pricing page?
hello world example in our style guide?
refactor parse_config to use dataclasses
who owns billing
release checklist
write a test for the CSV importer
is it safe to delete the old bucket?
please update the changelog
yes, but use the new API client instead
no, the timeout should be 30 seconds
go with sqlite for the cache
let's move on to the payments bug
thanks for fixing that, can you also bump the version
kubectl get pods hangs
TypeError: cannot unpack non-iterable NoneType object
naming conventions for branches
CORS error on localhost:3000
explain the retry policy
good morning, what is left on the roadmap?
hey, where do we keep the terraform state?
review my last commit
make the sidebar collapsible
vim undo tree
UserService.create_user
src/auth/token.py
#1432
v2.3.1 regression
do the same for the invoices table
which linter do we use
when is the next release
cheapest way to store embeddings
can you check why the nightly build failed
rebase onto main and squash the fixups
great, next: document the export endpoint
convert this to TypeScript: function add(a, b) { return a + b }
SELECT count(*) is slow on events
use pnpm not npm
the docs say 8080, is that right?
AWS region
what's the password policy
Docker
Bob's birthday
meeting notes March
what was decided about logging
it crashes on startup when LANG is unset
I want to add dark mode
should we cache the tokenizer?
git stash pop conflict
nginx 502
okta login broken
""",
    "zh": """
部署流程
部署
为什么不用Redis
登录接口报错怎么办
数据库端口是多少？
继续迁移认证服务
好的，那测试环境的地址是什么？
谢谢，另外发布流程在哪里？
张伟
王芳负责什么
上线时间
修复登录页面的样式问题
给导出功能加上单元测试
缓存策略
索引失效的原因
重构 UserService
如何回滚
日志放哪儿了
帮我写一个备份脚本
之前关于定价的结论是什么
代码规范
分支命名
为什么构建失败
怎么配置代理
请更新文档
接口超时怎么处理
消息队列选型
线程池参数
这个项目用什么数据库
谁负责支付模块
下周的发布计划
nginx 502 怎么排查
k8s 内存限制
把按钮改成蓝色
不要用 npm，用 pnpm
可以把超时改成 30 秒吗
好，接下来写发票模块
内存泄漏
密码策略
会议记录
红黑树和AVL树的区别
TCP 三次握手
周报
解释一下重试机制
优化首页加载速度
检查一下昨晚的构建
删除旧的存储桶安全吗
早上好，今天路线图还剩什么？
上次我们决定用哪个框架
客户反馈
单点登录
灰度发布
我想加一个深色模式
服务器在哪个机房
依赖升级
合并冲突怎么解决
证书过期了
生产环境挂了
小李的邮箱
测试覆盖率要求
""",
    "ja": """
なぜ落ちる?
デプロイ手順
デプロイ
ステージングのURLは？
ありがとう。ところで本番のポートは？
認証サービスの移行を続けて
はい、ただしタイムアウトは30秒にしてください
田中さんの担当は？
佐藤
ログインのテストを直して
なぜRedisをやめたの
データベースのバックアップ方法
命名規則
リリース手順を教えて
ビルドが失敗する理由
CSVの取り込みにテストを追加
請求書モジュールをリファクタして
キャッシュの設計
文字化け
メモリリークの調査
前回の会議で決めたこと
どのフレームワークを使っている？
ブランチの命名
議事録
証明書の更新
支払い機能は誰が担当？
おはようございます、今日の残タスクは？
了解、次は発注画面を作って
エラー処理の方針
再起動の手順
依存関係の更新
プロキシの設定はどこ？
k8s のメモリ上限
nginx 502 の原因
npmではなくpnpmを使って
ボタンを青にして
ドキュメントを更新してください
ダークモードを追加したい
古いバケットを消しても大丈夫？
トップページの表示が遅い
単体テスト
型ヒントを付けて
コミットメッセージの書き方
環境変数一覧
障害対応
昨日の夜間ビルドを確認して
UserService の役割は
正規表現で日付を抜き出す
パスワードのルール
ロールバックするには
競合の解消
京都出張
納期
週報のテンプレート
この関数を説明して
リトライの仕様
どうやって署名鍵を更新する？
料金ページについて何が決まった？
サーバーはどこにある
マージの順番
""",
}

TUNE_CLOSED = {
    "en": """
hi
hello!
hey
good morning
good evening everyone
yo
how's it going
what's up?
thanks
thank you
thx
ty!
thanks a lot
thank you, that's perfect
many thanks
cool
ok
k
okay great
sure
sure thing
yes
yeah
yes do it
yes go ahead
go ahead
do it
please do
just do it
all good
looks good
sounds good
great
excellent
correct
exactly
right
agreed
approved
fine by me
no thanks
no, stop
stop
wait
hold on
don't do that
skip it
not yet
later
maybe
idk
I don't know
continue please
continue from where you left off
go on
next
next one
lmao
hahaha
wow
oh
ah ok
ok cool
gotcha
understood
i understand now
good job
it works
it works now, thanks!
done
yes, 1
option b
the second one
all of them
whatever you think is best
you decide
what?
how?
who are you?
what do you mean?
are you sure?
can you do it?
try again
retry
undo that
sorry
my bad
no worries
you're welcome
please
test
bye
ttyl
""",
    "zh": """
你好！
您好
嗨
早
早安
下午好
大家好
在吗
在不在
谢谢！
谢了
谢谢你
感谢
多谢
十分感谢您
辛苦了
麻烦了
好
好吧
好呀
好滴
好哒
行吧
行，就这么办
可以
可以，开始吧
没问题，继续
嗯
嗯，好的
对的
对对对
是
是的，请继续
确定
当然
当然可以
就这么做
按你说的做
开始吧
来吧
做吧
执行吧
继续吧
往下走
下一个
接着说
不
不行
不对
不用
别
停
等等
等一下
暂停
取消
不需要了，谢谢
两个都要
选1
方案二
A吧
你决定
听你的
看着办
哈哈
呵呵
嘿嘿
哇
哦
哦哦，明白
懂了
清楚了
好的收到
牛
真棒
很好
完美
挺好的
做得好
什么？
怎么了
什么意思
你能做什么
你确定吗
再试一次
重试
对不起
抱歉
没关系
不客气
bye
回头见
OK
okok
嗯呢
么么哒
""",
    "ja": """
こんにちは！
おはよう
こんばんわ
どうも
もしもし
お疲れ様
お疲れ
ご苦労様です
よろしく
よろしくです
宜しくお願い致します
お世話になっております
ありがと
ありがとうー
どうもです
ありがとうございます、助かります
感謝します
はーい
はい！
はいはい
うんうん
そう
そうそう
そうしてください
そうですか
いえ
いいえ、結構です
違います
ちがう
やめて
待って
ちょっと待ってください
いいです
いいね
良いですね
良さそうです
それでいいです
それで
OK
okです、続けて
おけ
おk
りょ
りょうかい
承知いたしました
分かりました
わかりました、ありがとうございます
なるほどですね
確かに
もちろん
問題ないです
大丈夫
続き
続けて下さい
続行
次
次お願いします
進めて
進めてください
お願い
お願いします
頼みます
やって
実行して
どうぞ
すごいね
さすが
素晴らしい
いい感じ
バッチリ
ナイス
完璧！
草
笑笑
(笑)
へえ
ふーん
えっ
あー
うーん
すみません
ごめん
ごめんなさい
失礼します
またね
じゃあね
バイバイ
おやすみ
どうして？
何？
どういう意味ですか？
もう一度
もう一回やって
両方
1でお願いします
Aで
任せる
テスト
""",
}

TUNE_OPEN = {
    "en": """
staging url
how do we deploy
what port does postgres use?
why is the build red
rename the config key
run the migration
continue with the export feature
go ahead and add the index on user_id
yes, delete the feature branch
ok now write the docs for it
thanks! one more thing: bump numpy
hi, I need help with the parser
next: error handling in upload
do we use black or ruff?
logging setup
rate limits
deploy
release
rollback
tests?
API keys
SSO
K8s
C++ style
where is the runbook
who is Maria
what is fuyao
show me the schema
tell me more about the scheduler
explain more about sharding
I think the cache is stale
not sure why the worker dies
it works on my machine but not in CI
looks good, but rename foo to bar
great idea, use asyncio there
stop using moment.js
wait for the lock before writing
the second test fails
option parsing is broken
hold on, didn't we decide against GraphQL?
no tests for the router yet
sorry, I meant the orders table
test the login form
test plan
commit and push
merge the open pull request
please help me understand the event loop
what do you mean by view here
can you do a code review
undo the last migration
good first issue labels
morning standup notes
hello endpoint returns 500
thank-you page copy
retry policy
both services time out
continue.yml syntax
the cat sat on the keyboard and broke prod
in what order do the hooks run
/etc/nginx/nginx.conf gives 403, why?
2 workers or 4?
8080 or 3000?
""",
    "zh": """
测试环境地址
怎么部署
数据库用的什么端口
构建为什么红了
改一下配置项名字
跑一下迁移
继续做导出功能
好的，给 user_id 加索引
可以，删掉那个分支
好的，现在写文档
谢谢！再升级一下 numpy
你好，我需要解析器的帮助
下一步做上传的错误处理
日志
限流
发布
回滚
单测
接口文档
谁是玛丽亚
陈晨
李明
扶摇是什么
看看表结构
我觉得缓存过期了
不知道为什么进程会挂
本地可以但是 CI 不行
不错，但是把 foo 改名为 bar
别用 moment.js 了
第二个测试失败了
等等，我们不是决定不用 GraphQL 吗？
路由还没有测试
对不起，我是说订单表
测试登录表单
提交并推送
帮我理解事件循环
什么是视图
撤销上一次迁移
开始写支付模块
重试策略
两个服务都超时
好友列表接口
你好世界程序报错
感谢信模板
是否支持暗色模式
对账流程
确认订单页面
继续教育平台的需求
行情数据来源
可用性指标
收到消息后不触发回调
取消订阅怎么做
明天的会议几点
钩子按什么顺序执行
8080 还是 3000？
数据对齐
嗯，那为什么日志没有输出
完美转发怎么写
再见页面的文案
随机种子
""",
    "ja": """
ステージング環境のアドレス
どうやってデプロイする
DBのポートは何番
ビルドが赤い理由
設定キーの名前を変えて
マイグレーションを実行して
エクスポート機能を続けて
はい、user_id にインデックスを追加して
OK、そのブランチを消して
了解、次にドキュメントを書いて
ありがとう！numpyも上げて
こんにちは、パーサーについて聞きたい
次はアップロードのエラー処理
ログ
リリース
ロールバック
API仕様
鈴木さんって誰
山田
扶揺とは
スキーマを見せて
キャッシュが古いと思う
ワーカーが落ちる理由がわからない
手元では動くけどCIで落ちる
いいね、でも foo を bar に変えて
moment.js は使わないで
2番目のテストが失敗する
待って、GraphQLはやめたんじゃなかった？
ルーターのテストがまだない
すみません、注文テーブルのことでした
ログインフォームをテスト
コミットしてプッシュ
イベントループを説明して
ビューとは何ですか
直前のマイグレーションを取り消して
支払いモジュールを始めて
リトライ
両方のサービスがタイムアウトする
お礼メールのテンプレート
ダークモード対応
確認画面
続きはどのブランチ？
次のリリースはいつ
承知しました画面の文言
フックの実行順
8080と3000どっち？
型エラー
なぜ遅い
誰が決めた？
いつ止まった
最初のリリース日
問題の切り分け
大丈夫かどうかテストで確認
お願いしたいのは移行の続きです
何が変わった？
権限
草案のレビュー
終了コードの意味
テスト方針
完璧な型付けの方針
""",
}

MACHINE = (
    "<task-notification>\n<task-id>b1</task-id>\n<status>completed</status>\n</task-notification>",
    "<task-notification>\n<task-id>b1</task-id>\n</task-notification>\nRead the output file: /tmp/x",
    "<system-reminder>\nThe file src/a.py was modified.\n</system-reminder>",
    "<command-name>/compact</command-name>\n<command-message>compact</command-message>\n<command-args></command-args>",
    "<local-command-stdout>Compacted.</local-command-stdout>",
    "<local-command-stderr>error: no such session</local-command-stderr>",
    "<bash-input>ls -la</bash-input>",
    "<bash-stdout>total 4\nfoo</bash-stdout><bash-stderr></bash-stderr>",
    "This session is being continued from a previous conversation that ran out of context. Summary: deploy the server",
    "[Request interrupted by user]",
    "[Request interrupted by user for tool use]",
    "Caveat: The messages below were generated by the user while running local commands.",
    '{"type": "tool_result", "tool_use_id": "toolu_1", "content": "ok, the deploy finished"}',
    '[{"tool_use_id": "toolu_01", "type": "tool_result", "content": "done"}]',
    '{"a": 1}\n{"a": 2}\n{"a": 3}',
    "Please continue the conversation from where we left it off without asking the user any further questions.",
    "Continue from where you left off.",
    "Stop hook feedback:\n- tests are red",
    'Traceback (most recent call last):\n  File "a.py", line 3, in <module>\n    main()\nValueError: bad port',
    "Error: boom\n    at foo (/srv/a.js:1:2)\n    at bar (/srv/b.js:3:4)\n    at node:internal/main:5:1",
    "2026-01-02 10:00:00 INFO starting\n2026-01-02 10:00:01 ERROR port in use\n2026-01-02 10:00:02 INFO exit",
    "[2026-01-02T10:00:00Z] worker started\n[2026-01-02T10:00:01Z] worker died\n[2026-01-02T10:00:02Z] restart",
    '<teammate-message teammate_id="x">I finished the parser</teammate-message>',
    "Read HEARTBEAT.md if it exists (workspace context). Follow it strictly.",
    "[cron:daily-report] Summarise the day",
    "A new session was started via /new or /reset. Greet the user.",
    "Pre-compaction memory flush. Store durable memories now.",
    "Your task is to create a detailed summary of the conversation so far, paying close attention to requests.",
    "Base directory for this skill: /home/u/.claude/skills/pdf",
    "<hook_context>\nNotes …\n</hook_context>",
    "[Subagent Context] You are running as a subagent (depth 1/1).",
    "<recall>\n- Deploy — make deploy\n</recall>",
    "<claude-mem-context>\n# Recent Activity\n</claude-mem-context>",
    "/compact",
    "/clear",
    "/deploy staging",
    "!git status",
    "API Error: 529 overloaded_error",
    "<ide_opened_file>The user opened the file a.py in the IDE.</ide_opened_file>",
    "Another Claude session sent a message:\n<cross-session-message>done</cross-session-message>",
)

RATE = 0.97
"""Least share of each list that must be judged right; what the lists reached when they were made is 1.0."""


@pytest.mark.parametrize("lists", [TUNE_CLOSED, HELD_CLOSED], ids=["tuning", "held-out"])
@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_small_talk_closes_the_gate(lists: dict[str, str], language: str) -> None:
    prompts = _lines(lists[language])
    opened = [prompt for prompt in prompts if gate.judge(prompt).open]
    assert len(prompts) >= 60
    assert len(opened) <= (1 - RATE) * len(prompts), opened


@pytest.mark.parametrize("lists", [TUNE_OPEN, HELD_OPEN], ids=["tuning", "held-out"])
@pytest.mark.parametrize("language", ["en", "zh", "ja"])
def test_questions_open_the_gate(lists: dict[str, str], language: str) -> None:
    prompts = _lines(lists[language])
    closed = [(prompt, gate.judge(prompt).why) for prompt in prompts if not gate.judge(prompt).open]
    assert len(prompts) >= 60
    assert len(closed) <= (1 - RATE) * len(prompts), closed


def test_halves_do_not_overlap() -> None:
    for tuning, held in ((TUNE_CLOSED, HELD_CLOSED), (TUNE_OPEN, HELD_OPEN)):
        for language in ("en", "zh", "ja"):
            assert not set(_lines(tuning[language])) & set(_lines(held[language]))


@pytest.mark.parametrize("prompt", MACHINE, ids=lambda prompt: prompt[:30])
def test_machine_text_closes_the_gate(prompt: str) -> None:
    verdict = gate.judge(prompt)
    assert not verdict.open
    assert verdict.why == ("command" if prompt[0] in "/!" else "machine")


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("", "empty"),
        ("  \n\t ", "empty"),
        ("👍", "too-short"),
        ("?!", "too-short"),
        ("ci", "too-short"),
        ("部", "too-short"),
        ("hello", "greeting"),
        ("ok thanks, go on", "thanks"),
        ("好的继续吧", "confirmation"),
        ("yes do it", "confirmation"),
        ("okkkkk", "confirmation"),
        ("thxxx", "thanks"),
        ("ありがとうーーー！", "thanks"),
        ("謝謝", "thanks"),
        ("哈哈哈哈哈", "small-talk"),
        ("/compact", "command"),
        ("!ls -la", "command"),
        ('{"a": 1}', "machine"),
    ],
)
def test_rule_is_named(prompt: str, why: str) -> None:
    assert gate.judge(prompt) == Verdict(open=False, why=why)


@pytest.mark.parametrize("source", ["system", "loop_wakeup", "schedule_wakeup", "poll_event", "x"])
def test_prompt_of_a_machine_source_is_closed(source: str) -> None:
    assert gate.judge("how do we deploy?", source=source).why == "machine"


@pytest.mark.parametrize("source", ["user", "sdk", "", " User "])
def test_prompt_of_a_person_is_judged(source: str) -> None:
    assert gate.judge("how do we deploy?", source=source).why == "ok"


@pytest.mark.parametrize(
    ("prompt", "query"),
    [
        ("how do we deploy?", "how do we deploy?"),
        ("thanks — now what was the staging URL?", "now what was the staging URL?"),
        ("好的，那测试环境的地址是什么？", "那测试环境的地址是什么？"),
        ("<system-reminder>old note about Redis</system-reminder>\nhow do we deploy?", "how do we deploy?"),
        ("how do we deploy?\n<system-reminder>never closed, about Redis", "how do we deploy?"),
        ("<hook_context>a\nb</hook_context>\n<claude-mem-context>c</claude-mem-context>port?", "port?"),
        ("what does <system-reminder> mean here?", "what does <system-reminder> mean here?"),
        ("<hindsight_memories>x</hindsight_memories> which port", "which port"),
        ("🧠 Recalled:\n- Redis was dropped\n\nwhich port?", "which port?"),
        (
            "Notes from this repository that may bear on the request.\n- Redis\n(end of notes)\nwhich port?",
            "which port?",
        ),
        ("8080, 3000 or 5000 for staging?", "8080, 3000 or 5000 for staging?"),
    ],
)
def test_query_is_the_part_that_asks(prompt: str, query: str) -> None:
    assert gate.judge(prompt).query == query


CARD = Document(
    path="entities.md", blob="", line=1, heading=(), title="Alice", summary="Alice leads payments", tags=(),
    type="entity", priority="", date="", owner="", expires="", supersedes=(), superseded_by="", aliases=(),
    content_hash="c",
)  # fmt: skip


def test_own_digest_is_never_a_query() -> None:
    text = digest.compose(
        Slots(cards=(CARD,)),
        commit="a" * 40,
        budget_chars=6000,
        relevant_chars=700,
        max_entries=5,
        fixed=False,
    ).text
    assert "Alice" in text
    assert gate.judge(text).why == "machine"
    assert gate.judge(f"{text}\n\nwhich port?").query == "which port?"


LOG = "\n".join(f"2026-01-02 10:00:{s:02d} INFO worker {s} started on queue-{s}" for s in range(60))


def test_pasted_log_is_not_the_query() -> None:
    verdict = gate.judge(f"The import job is slow since the upgrade, why?\n{LOG}\n")
    assert verdict.query == "The import job is slow since the upgrade, why?"


def test_fence_is_dropped_and_the_named_identifier_kept() -> None:
    body = "\n".join(f"line_{n} = other({n})" for n in range(300))
    verdict = gate.judge(f"why does parse_config return None?\n```python\n{body}\ndef parse_config(x):\n    pass\n```")
    assert verdict.query == "why does parse_config return None?\ndef parse_config(x):"


def test_error_is_kept_when_the_prose_says_little() -> None:
    trace = "Traceback (most recent call last):\n  File \"a.py\", line 1, in <module>\nKeyError: 'STRIPE_KEY'"
    assert "KeyError: 'STRIPE_KEY'" in gate.judge(f"any idea?\n\n{trace}").query


def test_lists_of_wishes_are_prose() -> None:
    wishes = "please:\n  - rename the key, \n  - add retries;\n  - drop the cache,\n  - bump numpy,"
    assert "add retries" in gate.judge(wishes).query


def test_quoted_mail_is_dropped() -> None:
    assert gate.judge("> we use Oracle\n> on port 1521\nwhich database is right?").query == "which database is right?"


@pytest.mark.parametrize("where", ["start", "middle", "end"])
def test_question_in_a_megabyte_is_found(where: str) -> None:
    question = "Which bucket holds the nightly backups?"
    half = (LOG + "\n") * 170
    prompt = {
        "start": f"{question}\n\n{half}{half}",
        "middle": f"{half}\n\n{question}\n\n{half}",
        "end": f"{half}{half}\n\n{question}",
    }[where]
    assert len(prompt) > 900_000
    assert question in gate.judge(prompt).query
    assert len(gate.judge(prompt).query) < 200


def test_long_prose_keeps_the_asking_sentences() -> None:
    filler = "The weather was mild and everybody talked about the fair in town. " * 150
    verdict = gate.judge(f"{filler}\nHow do we rotate the signing key?\n{filler}")
    assert "How do we rotate the signing key?" in verdict.query
    assert len(verdict.query) <= gate.QUERY_CHARS


def test_ten_thousand_words_are_cut() -> None:
    verdict = gate.judge("deploy " * 10_000)
    assert verdict.open
    assert len(verdict.query) <= gate.QUERY_CHARS


@pytest.mark.parametrize(
    "prompt",
    [
        "<system-reminder>" * 60_000,
        "x " + "<system-reminder>" * 60_000,
        "a;b;" * 250_000,
        "[" * 400_000,
        '{"a":' * 100_000,
        "```\n" * 250_000,
        "\n" * 1_000_000 + "x",
        "x hook additional context: \n" * 30_000,
        "\n\nabc def" * 100_000,
        "<" * 1_000_000,
        "/" * 1_000_000,
        "🧠" * 300_000,
        "\ud800" * 1000 + " why",
    ],
    ids=lambda prompt: repr(prompt[:8]),
)
def test_hostile_megabyte_is_answered(prompt: str) -> None:
    assert len(gate.judge(prompt).query) <= gate.QUERY_CHARS


def test_deep_json_does_not_overflow() -> None:
    depth = sys.getrecursionlimit() * 3
    assert isinstance(gate.judge("[" * depth + "]" * depth).why, str)


_RECORDS = {
    "log": "2026-01-{0:02} 10:{0:02}:31 ERROR db request from 10.0.3.{0} path=/api/v1/users/{0} took {0}7ms, timeout ",
    "json": '{{"id": {0}, "name": "docker", "tags": ["git rebase", "v{0}"], "score": 0.{0}7}}, ',
    "script": 'function a{0}(b,c){{var d=b.querySelector("div.git");return d?d.docker(c,{0}):c&&c.redis("vim")}};',
}


@pytest.mark.parametrize("records", [20, 900])
@pytest.mark.parametrize("kind", list(_RECORDS))
@pytest.mark.parametrize("form", ["{0} {1}", "{1} {0}", "{1}{0}", "{0}:{1}"])
@pytest.mark.parametrize(
    "question", ["how do I fix error 404 in nginx_proxy?", "怎么删除远程分支？", "ブランチを削除する方法は？"]
)
def test_a_question_on_the_line_of_what_was_pasted_is_what_is_asked(
    question: str, form: str, kind: str, records: int
) -> None:
    pasted = "".join(_RECORDS[kind].format(number % 60) for number in range(records))
    query = gate.judge(form.format(question, pasted)).query
    assert question.rstrip("?？") in query
    assert len(query) <= len(question) + 40


def test_a_lone_question_amid_a_pasted_line_that_is_cut_is_found() -> None:
    pasted = "".join(_RECORDS["log"].format(number % 60) for number in range(400))
    assert "what is wrong" in gate.judge(f"{pasted}\n\nwhat is wrong here?\n\n{pasted}").query


def test_a_long_paragraph_is_no_data() -> None:
    text = "We moved the 3 services to Postgres 16 (see docs/db.md), because the old ones (v9.6) lost rows; " * 6
    assert gate.judge(text + "so which port do they use?").query.startswith("We moved")


def test_json_with_a_question_around_it_opens() -> None:
    assert gate.judge("why is this rejected? " + json.dumps({"port": 80})).open


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=400))
def test_any_text_gets_a_verdict(prompt: str) -> None:
    verdict = gate.judge(prompt)
    assert verdict.open == (verdict.why == "ok")
    assert verdict.open == bool(verdict.query)
    assert verdict == gate.judge(prompt)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(_lines(TUNE_CLOSED["en"] + TUNE_CLOSED["zh"])), min_size=1, max_size=3))
def test_small_talk_joined_is_small_talk(parts: list[str]) -> None:
    if sum(map(len, parts)) < 60 and not {"test", "k", "牛"} & set(parts):
        assert not gate.judge(", ".join(parts)).open
