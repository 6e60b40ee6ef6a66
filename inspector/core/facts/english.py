"""How English asks: a clause that begins with a verb in its plain form, or words like please, let's, I want.

Many of these verbs are nouns as well (build, test, report): such a one asks unless what follows tells of it ("build
failed", "tests are green", "use of the old endpoint"). docs/regret.md says how often this is right.
"""

from inspector.core.heavy import pattern

_ONLY_VERBS = (
    "accept|achieve|add|adjust|adopt|advise|align|allow|alphabeti[sz]e|analy[sz]e|append|apply|arrange|ask|assign"
    "|attach|avoid|backport|begin|bind|bring|calculate|catch|centrali[sz]e|choose|clarify|clean|clear|collapse|collect"
    "|combine|compare|compile|complete|compress|compute|configure|confirm|connect|consider|consolidate|continue"
    "|convert|correct|count|cover|create|deduplicate|define|delete|describe|detect|determine|diagnose|dig|disable"
    "|discard|discuss|divide|double-check|duplicate|elaborate|eliminate|embed|enable|encrypt|ensure|evaluate|examine"
    "|exclude|execute|expand|explain|explore|expose|extend|fetch|figure|fill|finali[sz]e|find|finish|fold|follow"
    "|gather|generate|get|give|go|highlight|hide|hold|identify|ignore|implement|improve|include|inform|inject|inline"
    "|insert|inspect|install|integrate|introduce|investigate|invoke|isolate|join|keep|kill|learn|let|locate|lower|make"
    "|migrate|minimi[sz]e|modify|normali[sz]e|notify|optimi[sz]e|organi[sz]e|override|parallelize|parse|perform"
    "|persist|populate|prefer|prepare|preserve|prevent|prioriti[sz]e|proceed|produce|proofread|propose|protect|prove"
    "|provide|publish|purge|put|raise|rearrange|rebase|rebuild|recommend|reconsider|redirect|redo|reduce"
    "|refactor|refine"
    "|reformat|reformulate|refresh|regenerate|reimplement|remember|remind|remove|rename|render|reorder|reorgani[sz]e"
    "|rephrase|replace|reply|reproduce|re-?run|resolve|restore|restrict|restructure|resume|rethink|revise|rewrite"
    "|rewind|save|say|scaffold|see|select|send|separate|serialize|share|shorten|simplify|simulate|solve|sort"
    "|specify|speed"
    "|spin|standardi[sz]e|strip|submit|substitute|suggest|summari[sz]e|take|talk|tear|tell|think|throw|tidy|tighten"
    "|translate|treat|troubleshoot|trust|turn|undo|unify|uninstall|update|upgrade|validate|verify|visuali[sz]e"
    "|walk|wire|wrap"
    "|write"
)
_ALSO_NOUNS = (
    "access|address|answer|archive|audit|backup|benchmark|block|branch|break|build|bump|bundle|cache|call|cap|capture"
    "|change|chart|check|clone|close|code|comment|commit|copy|cut|debug|default|delay|delegate|demo|deploy|design|diff"
    "|display|do|document|double|download|draft|draw|drop|dump|edit|escape|estimate|export|extract|factor|fall back"
    "|filter|fix|flag|flatten|focus|force|fork|format|fuzz|grant|grep|group|guard|guide|handle|have|help|hook|host"
    "|import|increase|index|initiali[sz]e|isolate|issue|label|launch|lay out|leave|limit|link|lint|list|load|lock|log"
    "|look|loop|map|mark|match|measure|mention|merge|mirror|mock|monitor|move|name|note|open|order|outline|package"
    "|pass|patch|pause|pick|pin|plan|play|point|polish|port|post|prefix|preview|print|process|profile|prompt|prune|pull"
    "|push|query|question|queue|quote|read|record|release|repeat|report|request|research|reset|restart|retry|return"
    "|reuse|revert|review|roll|round|route|run|sample|scale|scan|schedule|scope|search|set|shift|show|shrink"
    "|sketch|skip"
    "|smoke-test|split|squash|stage|start|stick|stop|store|stream|structure|stub|style|support|swap|switch|sync|tag"
    "|target|test|throttle|time|touch|trace|track|transfer|transform|trigger|trim|try|type|use|vendor|view|visit|wait"
    "|warn|watch|work"
)
_GIVEN = (
    "the|an?|this|that|these|those|all|any|both|each|every|my|your|our|its|their|his|her|it|them|me|us|him|what|which"
    "|who|how|why|where|whether|if|sure|only|at most|at least|up with"
)
"""What follows a verb and no noun."""
_TELLS = (
    "is|are|was|were|am|be(?:en)?|has|had|will|would|can|could|might|may|must|should|does|did|took|takes|went|goes|came"
    r"|comes|got|gets|ran|fails?|failed|passed|works?|worked|crash(?:e[sd])?|dropped|broke|breaks|differs?|costs?|hangs"
    r"|hung|seems?|looks|looked|stays|stayed|remains|rose|fell|\w+n['’]t"
)
"""After a noun: a sentence about it."""
_NO_NOUN = (
    rf"(?![-:/.'’)]|\s*=|\s+(?:--?\w|\w+:(?!//)|[\da-f]{{6,}}\b|about|of|off? by|cases?|and (?:is|was))\b"
    rf"|(?!\s+(?:{_GIVEN})\b)\s+(?:[\w-]+\s+){{0,2}}(?:{_TELLS})\b"
    r"|(?!\s+(?:and|or|then)\b)\s*$)"
)
_PRAISED = r"(?:work|job|call|catch|find|point|try|start)\b"
_LEADS = (
    rf"ok(?:ay)?|yes|yeah|yep|sure|right|now|then|and|also|next|first|second(?:ly)?|finally"
    rf"|great(?! {_PRAISED})|so|but|or|cool|nice(?! {_PRAISED})|good(?! {_PRAISED})"
    "|perfect|thanks|thank you|no|actually|alright|just|simply|maybe|perhaps|hm+|again|instead|lastly|additionally"
    r"|meanwhile|afterwards|later|today|ple?ase|pelase|pls|plz|always|never|once more|[a-z]+ly|oh|ah|hey|hi"
    r"|well|omfg|ffs|damn"
    r"|from (?:now|here|this point) on|going forward|for now|for (?:the|this|each|every|all) [\w -]{2,30},|in addition"
    r"|if (?:possible|needed|necessary)|while (?:you(?:'re| are) )?at it|as a (?:first|next|last|final) step|do"
)
_TIMES = (
    r"(?:before|after|once|when(?:ever)?|if|while|as soon as|until|unless|instead of|rather than|every time"
    r"|each time)\b"
    r"[^,;:.?!]{3,80},"
)
"""A clause in front: before you write any code, ..."""
_IDIOM = (
    r"(?!(?:never mind|take your time|have (?:you|we|they|i|a (?:nice|good|great)|fun|been|to)\b|do (?:you|we|they|i)\b"
    r"|let me (?!know|have|approve|choose|decide|pick)|let alone|note (?:that|however)|support for|raise \w+\("
    r"|see (?:you|above|below|also)\b|think so"
    r"|look(?:s|ing)\b|go(?:es|ing|od)\b|keep in mind that|close to\b|open source|read[- ]only|no (?:need|idea)))"
)
WANTED = pattern(
    rf"(?i)^(?:{_TIMES}\s+)?(?:(?:{_LEADS})[,.:;!]? )*{_IDIOM}(?:(?:{_ONLY_VERBS})\b(?!['’:])"
    rf"|(?:{_ALSO_NOUNS})\b{_NO_NOUN})"
    r"|\b(?:please|pls|plz|kindly|(?:can|could|would|will) you"
    r"|(?<!how )(?<!what )(?<!where )(?<!when )(?<!why )(?:can|could|shall|should) we|make sure|let['’]?s"
    r"|feel free to|i need you|we need to"
    r"|(?:i|we)(?:['’]d| would) (?:also |really )?(?:like|prefer|love|rather)|i(?:['’]d)? (?:also "
    r"|really )?want|we want"
    r"|we should|you should|you need to|you can (?!see|tell|find|imagine|guess|read|notice)"
    r"|should (?:be(?! (?:fine|ok|okay|good|easy|enough|possible|able|safe|there|working)\b)|show|not\b|only\b|use\b)"
    r"|should (?:stay|remain|have (?:an?|the|its|at|no|one|two)\b)|needs? to)\b"
    r"|^(?:it(?:['’]d| would) be (?:great|nice|good|better|best|cool|helpful|useful)|how about|what about"
    r"|(?:it['’]?s )?time to|i need (?:an?|the)\b)"
)
"""A sentence in which the user wants something."""
ASKED = pattern(
    r"(?i)\b(?:can|could|would|will) (?:you|we)\b|\bplease\b|\bshould we\b|\blet['’]s\b|\bwant\b|^(?:how|what) about\b"
)
"""A question that does."""
