"""Tell whether a prompt asks to continue earlier work.

The words alone are not enough: programs have ``continue`` statements, and there is a framework called next. So a verb of continuing
counts only at the beginning, after courtesies, and if the sentence ends there or goes on about the work.
"""

from __future__ import annotations

import re

_FIRST_LINE_CHARS = 400
_COURTESIES = re.compile(
    r"(?:(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|yes|yep|yeah|ok(?:ay)?|sure|right|great|alright|all right|so|now|well|and"
    r"|thanks?|thank you)(?: there)?"
    r"|please|pls|just|then|let'?s|let us|(?:can|could|would|will|shall|should) (?:you|we|i)"
    r"|(?:i|we)(?:'d| would) like (?:you )?to|(?:i|we) (?:want|need|have) (?:you )?to|(?:i|we) wan(?:na|t to)|(?:we|you) (?:can|should)"
    r"|(?:it'?s )?time to|ready to|bitte|hallo|ja|gut|dann|mal|(?:wir )?mach(?:e|t|en(?: wir)?)?|lass(?:t)? uns|k(?:annst du|önnen wir)"
    r"|por favor|hola|vale|¿?(?:puedes|podemos)|s'il (?:te|vous) pla[iî]t|bonjour|oui|on|vas-y|allez|(?:tu peux|peux-tu)"
    r")[\s,.!:;-]+)*",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"continuemos|continue[rz]?(?!;)|resume(?!:| (?:el|l[ao]s?|est[aeo]s?|en)\b)|proceed"  # Spanish: sum up
    r"|go on|go ahead|carry on|keep (?:going|at it|on)|keep(?= \w+ing\b)|pick (?:it |this |that )?(?:back )?up"
    r"|take (?:it )?up again|get back to (?:it|work)|back to work"
    r"|weiter(?:machen|arbeiten| geht's)?|fortsetzen|fortfahren|continuons|poursui(?:s|v(?:re|ez|ons))|reprend(?:s|re)|repren(?:ez|ons)"
    r"|contin[uú]a(?:r|mos)?|sigue|seguir|seguimos|продолж(?:ай|айте|аем|им|ить)|devam(?: et| edelim)?"
    r"|続けて(?:ください|下さい)?|続き(?:から|を)?(?:お願いします)?|継続(?:して)?(?:ください)?"
    r"|请?继续(?:吧|工作)?|請?繼續吧?|계속(?:하자|진행해\s?줘|해(?:\s?줘|\s?주세요)?)?",
    re.IGNORECASE,
)
_END = r"\s*(?:$|[.,!?;:…)—-]+(?:\s|$)|[。、，！])"  # noqa: RUF001 - the marks of other languages
_OF_A_LOOP = (
    r"(?:iteration|loop|line|row|element|record|token|char|zeile|durchlauf|ligne|élément|elemento|fila|línea)"
)
_OTHER_WORK = (
    r"(?:(?:a|an|some|the)\s+)?(?:\w+\s+)?(?:new|different|other|another|else|fresh|unrelated)\b|something\b|anything\b"
    rf"|(?:\w+\s+)?(?:next|nächste[nmr]?|siguiente|prochaine?)\s+{_OF_A_LOOP}"
    r"|error|failure|exception|true|false|(?:etwas|was|eine[mr]?) (?:neue|andere)|autre|algo|otr[oa]"
)
_WORK = (
    r"(?:\w+\s+){0,2}?(?:work|task|job|session|conversation|chat|project|plan|steps?|implementation|migration|port|rewrite|feature"
    r"|review|investigation|discussion|to-?dos?|list|refactor\w*|fix\w*|debug\w*|test\w*|changes|upgrade|analysis)\b"
)
_DOING = r"(?:work|implement|refactor|fix|debug|writ|port|migrat|build|test|cod|review|develop|investigat|clean|convert)\w*ing\b"
# What follows the verb where it is about the work.
_ABOUT_WORK = re.compile(
    rf"{_END}"
    r"|\s+(?:please|now|then|again|today|right away|until|till|as (?:planned|before|discussed|you)|where"
    r"|from (?:where|there|here|the|your|our|my|last|yesterday|before|earlier|step|phase|task)"
    r"|bitte|por favor|s'il (?:te|vous) pla[iî]t|wo|da|où|là|donde)\b"
    rf"|\s+(?:with|on|mit|bei|an d(?:er|em|en)|avec|con)\s+(?!{_OTHER_WORK})"
    rf"|\s+work(?={_END})|\s+to\s+(?:the\s+next(?!\s+{_OF_A_LOOP})|work)\b"
    rf"|\s+(?:the|this|that|our|your|my|all|la|le|el|die|den|das)\s+{_WORK}"
    rf"|\s+(?:this|that)(?={_END})|\s+(?:what(?='s left|\s+(?:we|you|i)\b)|it)\b(?!\s+(?:is|was|does|returns?)\b)|\s+{_DOING}",
    re.IGNORECASE,
)
# Programs continue, too: under a condition on a value, or instead of doing something.
_OF_A_PROGRAM = re.compile(
    r"\b(?:when|if|unless|wenn|falls|quand|si|cuando)\b[^.!?]*\b(?:null?|none|nil|empty|true|false|zero|leer|vide|nulo|vac[ií][oa])\b"
    r"|\b(?:instead of \w+ing|statt zu|au lieu de \w+er|en vez de \w+[aei]r)\b",
    re.IGNORECASE,
)
_ASKS_WHAT_IS_NEXT = re.compile(
    rf"where (?:were we|are we(?={_END})|did (?:we|you|i) (?:stop|leave off|get to))"
    rf"|what(?:'s| is| was| comes) (?:the )?next(?: (?:step|task|thing|up|on (?:the|our|your) \w+|to do))?(?={_END})"
    rf"|(?:do )?(?:the )?next (?:step|task|one)(?={_END})"
    rf"|finish (?:what (?:you|we|i)|(?:it|this|that|the (?:rest|job|work|task))(?={_END}))",
    re.IGNORECASE,
)
# Of an error, too, people say where it stopped: the place counts only where the sentence ends or says when.
_LEFT_OFF = re.compile(
    r"\b(?:where (?:we|you|i)|from where it) (?:had )?(?:left (?:off|it)|stopped|were)"
    r"(?=\s*(?:$|[.,!?;:…)—-]+(?:\s|$))|\s+(?:yesterday|before|earlier|today|last|this|on|with|and|then|please|now|in the (?:last|previous))\b)",
    re.IGNORECASE,
)


def asks_to_continue(prompt: str) -> bool:
    """Return whether the prompt begins by asking to continue, or mentions in its first line where the work stopped."""
    first_line = prompt.strip().partition("\n")[0].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    first_line = " ".join(first_line.split())[:_FIRST_LINE_CHARS]
    request = _COURTESIES.sub("", first_line, count=1)
    verb = _VERB.match(request)
    if verb is not None and _ABOUT_WORK.match(request, verb.end()):
        return _OF_A_PROGRAM.search(request) is None
    return _ASKS_WHAT_IS_NEXT.match(request) is not None or _LEFT_OFF.search(first_line) is not None
