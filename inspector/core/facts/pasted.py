"""What of a user's message is somebody else's text: a document, a mail or a log that was pasted in.

It is known by the line before it, which shows it ("here is the spec:", 这是同事的邮件, 翻译成英文：), and by its form:
headers of a mail, chapters that documents have, a licence, HTML, lines broken at one width. A list of wishes
("Requirements:", 要求如下：) is the user's own, and so is the last paragraph, where it asks for something.
"""

import re
from itertools import pairwise

from inspector.core.facts.chinese import simplified
from inspector.core.heavy import pattern

_TEXT = (
    r"(?:\b(?:readme|contributing|changelog|docs?|document(?:ation)?|spec(?:ification)?s?|rfc|prd|issue|ticket"
    r"|article|blog|post|paper|e?-?mail|letter"
    "|message|thread|conversation|guide(?:line)?s?|handbook|manual|tutorial|policy|policies|terms|licen[cs]e"
    r"|report|transcript|notes|minutes|text|page|excerpt|comments?|[\w-]+\.(?:md|txt|rst|docx?|pdf))\b"
    "|文档|说明书?|规范|规约|协议|合同|手册|指南|文章|博客|论文|教程|邮件|[来封]信|消息|聊天记录|纪要|公告|通知"
    "|条款|制度|简历|报告|工单|评论|提示词|原文|文本|文案|文字|话术|段落|[这一]段话|原话)"
)
_PRINTED = r"(?:\b(?:logs?|output|errors?|traceback|stack ?trace|response)\b|日志|报错|错误信息|堆栈|输出|返回|响应)"
_ACT = (
    r"(?:\b(?:summari[sz]e|translate|proofread|critique|paraphrase|explain|review|read|look at|check|compare)\b"
    "|翻译|译成|翻成|总结|概括|归纳|润色|校对|审阅|解读|改写|解释|看看|看一?下|读一?下|对[照比]|比较|review)"
)
_REWORD = (
    r"(?:translat\w*|proofread\w*|rephrase|shorten|polish|翻译|译成|翻成|润色|校对|改[写得]|[缩扩]写|缩短|精简|提炼)"
)
_HERE = (
    r"(?:\b(?:here(?:'|’)?s?(?: is| are)?|below|following|attached|pasted|i (?:got|received)|this is|these are)\b"
    "|这是|这个是|下面|以下|如下|附上|附件|贴|发(?:我|来|给我|过来)的?|收到)"
)
_THIS = r"(?:\bth(?:is|ese|at)\b|[这那][两几]?[个篇份段封条些])"
_SHOWS = pattern(
    rf"(?i)^[^\n]*(?:{_HERE}.*{_TEXT}|{_TEXT}.*(?:says?|said|wrote|写道|上写|里写|如下)"
    f"|{_ACT}.*{_THIS}.*{_TEXT}).*[:：]$|(?:这是|这个是|下面|以下|如下|附上|贴|发(?:我|来|给我|过来)的?"
    rf"|收到).*{_TEXT}"
    f"|^.{{0,12}}{_TEXT}.{{0,4}}[:：]$|{_TEXT}.*(?:如下|见下)|^(?:.{{0,12}}"
    f"|.*{_THIS}.*{_TEXT}.*){_REWORD}.{{0,30}}[:：]$|(?:下面|以下|[这那][两几]?[篇段封]).*(?:{_REWORD}|总结"
    rf"|概括)|{_ACT}.*(?:下面|以下)的?这?[个篇份段封]"
)
"""A line that shows a text."""
_NAMES = pattern(
    rf"(?i)(?:^(?:please )?{_ACT}.*{_THIS}|^[^一-龥]*[一-龥].*{_ACT}|{_ACT}[^一-龥]*[一-龥]|[这那][两几]?[个篇份段封])"
    rf".*{_TEXT}"
)
_OF_IT = pattern(rf"(?i){_ACT}|{_REWORD}")
_PRINTS = pattern(rf"(?i)(?:{_HERE}.*{_PRINTED}|{_PRINTED}).{{0,12}}[:：]$|(?:这是|下面|以下|贴).*{_PRINTED}")
_OWNED = pattern(
    r"(?i)\b(?:requirements?|rules?|constraints?|follow|obey|comply|adhere|todo|tasks?|steps)\b|要求"
    r"|需求(?!文档)|约束|遵守|遵循|注意|规则|任务|步骤"
)
"""A line after which the user says what he wants."""
_SECTION = pattern(r"^(?:#{1,6} \S|第[一二三四五六七八九十百\d]+[章条节款]|[一二三四五六七八九十]{1,3}、|={4,}$)")
"""A line of a document: a heading, an article."""
_LABEL = pattern(r"^[^\s:：]{2,8}[:：]")
"""A line of a form: 期望：不能崩溃。"""
_RESUMES = pattern(
    r"(?i)^\W*(?:instructions?|(?:your )?tasks?|requirements?|rules?|important|任务|要求|我的要求)\W*(?:[:：].*)?$"
)
_SPEAKS = pattern(
    "(?i)帮我|帮忙|你(?!们|的)|给我|上面|以上|麻烦(?!你们)|^这(?!里|是)|^(?:修|改|看|分析|解释|排查|处理|翻译"
    r"|总结|根据|按)(?:一?下|看|成|以上|上面|这)"
    r"|\b(?:can|could|would) you\b|\babove\b|\b(?:for|tell|give|show|help) me\b|\?$|^(?:fix|explain"
    r"|summari[sz]e|translate|review|rewrite|implement|i )\b"
)
"""A last paragraph in which the user speaks."""
_ABOVE = pattern(rf"(?i)(?:上面|以上|前面)的?(?:这|那)?[个段篇份封]?.{{0,6}}{_TEXT}|{_TEXT} above|above {_TEXT}")
_LOG = pattern(
    r"^\s*(?:\[?\d{4}[-/]\d\d[-/]\d\d[ T]\d\d:\d\d|\[?\d\d:\d\d:\d\d|\[?(?:ERROR|WARN(?:ING)?|INFO|DEBUG|FATAL"
    r"|TRACE)\b"
    r"|(?:error|warning|note|help|fatal)(?:\[\w+\])?: )"
)
_QUOTE = pattern(r"^\s*(?:>|[“「\"].{6,300}[”」\"]\W*$)")
_ITEM = pattern(r"\s*(?:[-*#>]|\d+[.)、])")
_LONGEST = 300
"""Letters of a line that shows a text."""


_MAIL = pattern(r"(?i)^(?:from|to|cc|subject|date|sent|reply-to|发件人|收件人|抄送|主题|日期|发送时间)\s?[:：]\s?\S")
_CHAPTER = pattern(
    r"(?i)^#{1,6} +(?:[\d.]+ +)?(?:installation|install|usage|licen[cs]e|contributing|overview|introduction|abstract"
    r"|table of contents|changelog|getting started|quick ?start|features|references|prerequisites|faq|support|security"
    r"|安装|使用(?:方法|说明)?|简介|概述|概览|目录|许可证?|参考(?:文献|资料)?|附录|前言|常见问题|快速开始"
    r"|更新日志|贡献(?:指南)?)\s*$"
    r"|^第[一二三四五六七八九十百\d]+[章条]"
)
"""A heading of documents, and of no request."""
_LICENCE = pattern(
    r"(?i)\b(?:permission is hereby granted|redistribution and use in source|licensed under the \w+ licen[cs]e"
    r"|without warrant(?:y|ies) of any kind|all rights reserved)\b"
)
_TAG = pattern(
    r"(?i)^\s*</?(?:!doctype|html|head|body|div|p|table|tr|td|ul|ol|li|section|article|footer|header|nav|h[1-6])\b"
)
_BROKEN, _NARROW, _WIDE = 5, 55, 100
"""Lines in a row that end within a sentence, about as wide as each other: nobody breaks them while typing."""


_WRAPS = "userRequest|user_query|task|user_message|feedback"
_AROUND = pattern(  # Claude Code, Copilot CLI, VS Code, Cline, OpenClaw, Aider
    r"(?s)<(system[-_]reminder|current_datetime|context|reminderInstructions|environment_(?:info|details|context)"
    r"|workspace_info|attachments?|editorContext|repoContext|todoList)>.*?</\1>\s*"
    rf"|\A\s*<(?:{_WRAPS})>|</(?:{_WRAPS})>"
    r"|\A\[(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) \d{4}-\d\d-\d\d[^\]\n]{0,30}\] "
    r"|^# (?:\*SEARCH/REPLACE block\*|File editing) [Rr]ules:\n.*\Z",
    re.MULTILINE,
)


def without_reminders(text: str) -> str:
    """A message of the user without what his client put around it. O(text)."""
    if "</" in text or "\n# " in text or text.startswith("["):
        while (bare := _AROUND.sub("", text)) != text:  # what was wrapped begins the text now
            text = bare
    return text


def own_words(text: str) -> str:
    """The message without what was pasted into it, and without reminders. O(text)."""
    text = without_reminders(text)
    lines, plain = text.split("\n"), simplified(text).split("\n")
    foreign = _shown(plain) | _documents(plain)
    for form in (_LOG, _QUOTE):
        found = {at for at, line in enumerate(lines) if form.match(line)}
        if len(found) > (form is _LOG) and len(found) < len(lines):
            foreign |= found
    return "\n".join("" if at in foreign else line for at, line in enumerate(lines)) if foreign else text


def _shown(lines: list[str]) -> set[int]:
    """The lines of a text that the message shows, and does not say."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if len(filled) < 2:
        return set()
    first, last = filled[0], _last_words(lines, filled)
    head = lines[first].strip()[:_LONGEST]
    if last == filled[1] and _OF_IT.search(head):  # nothing else is there to be looked at
        last = len(lines)
    body = range(first + 1, next((at for at in filled[1:] if at < last and _RESUMES.match(lines[at])), last))
    if _PRINTS.search(head):
        gap = next((at for at in range(filled[1], last) if not lines[at].strip()), last)
        return set(range(first + 1, gap))
    rest = [lines[at].strip() for at in body]
    sections = any(map(_SECTION.match, rest)) or sum(map(bool, map(_LABEL.match, rest))) > 1
    shows = _NAMES.search(head) or _SHOWS.search(head) if sections else _SHOWS.search(head) and not _OWNED.search(head)
    if shows and not _SECTION.match(head):
        return set(body)
    if last < len(lines) and len(filled) > 3 and _ABOVE.search(lines[last]):
        return set(range(last))
    return set()


def _documents(lines: list[str]) -> set[int]:
    """The lines of what no line shows, and what is a document by its form."""
    filled = [at for at, line in enumerate(lines) if line.strip()]
    if len(filled) < 3:
        return set()
    end = _last_words(lines, filled)
    begins = [at for at, below in pairwise(filled) if _MAIL.match(lines[at]) and _MAIL.match(lines[below])][:1]
    chapters = [at for at in filled if at < end and _CHAPTER.match(lines[at])]
    if len(chapters) > 1:  # its title, too
        title = next((at for at in filled if at < chapters[0] and _SECTION.match(lines[at])), chapters[0])
        begins.append(title)
    begins += [_paragraph(lines, at) for at in filled if _LICENCE.search(lines[at])][:1]
    found = set(range(min(begins), end)) if begins else set()
    tags = [at for at in filled if _TAG.match(lines[at])]
    return found | (set(range(tags[0], tags[-1] + 1)) if len(tags) > 2 else set()) | _wrapped(lines)


def _paragraph(lines: list[str], at: int) -> int:
    """Where the paragraph of a line begins."""
    return next((above for above in range(at, 0, -1) if not lines[above - 1].strip()), 0)


def _wrapped(lines: list[str]) -> set[int]:
    """Paragraphs whose lines are broken at one width."""
    found, begin = set[int](), 0
    for at, line in enumerate([*lines, ""]):
        if line.strip():
            continue
        inner = lines[begin : at - 1]
        broken = [one for one in inner if _NARROW <= len(one) <= _WIDE and not _ITEM.match(one)]
        if (
            len(inner) >= _BROKEN - 1
            and len(broken) == len(inner)
            and max(map(len, inner)) - min(map(len, inner)) <= 25
        ):
            found.update(range(begin, at))
        begin = at + 1
    return found


def _last_words(lines: list[str], filled: list[int]) -> int:
    """Where the last words of the user begin, or the number of lines."""
    begin = next((at for at in reversed(range(filled[-1])) if not lines[at].strip()), -1) + 1
    if begin <= filled[0] or len([at for at in filled if at >= begin]) > 3:
        begin = filled[-1]
    said, before = lines[begin].strip(), max(at for at in filled if at < begin)
    asks = len(said) <= 120 and _SPEAKS.search(said) and not _ITEM.match(said)
    return begin if asks and not _SECTION.match(lines[before]) else len(lines)
