"""Whether a prompt asks to go on with what was left off.

The words alone are not the wish: programs have ``continue`` statements, résumés and a framework called next. So a verb of
going on counts where the prompt begins with it, politeness aside, and where the sentence ends there or goes on about the work.
"""

from __future__ import annotations

import re

_BEFORE = r"""(?:
    (?:hi|hello|hey|good\ (?:morning|afternoon|evening)|yes|yep|yeah|ok(?:ay)?|sure|right|great|alright|all\ right|so|now|well|and|thanks?|thank\ you)(?:\ there)?
  | please | pls | just | then
  | (?:let'?s|let\ us|lets)
  | (?:can|could|would|will|shall|should)\ (?:you|we|i)
  | (?:i|we)(?:'d|\ would)\ like\ (?:you\ )?to | (?:i|we)\ (?:want|need|have)\ (?:you\ )?to | (?:i|we)\ wan(?:na|t\ to) | (?:we|you)\ (?:can|should)
  | (?:it'?s\ )?time\ to | ready\ to
)[\s,.!:;-]+"""
_END = r"(?=\s*(?:$|\n|[.,!?;:…)—-]+(?:\s|$)))"
_KIND = r"(?:new|different|other|another|else|fresh|unrelated)\b"
_WORK = (
    r"(?:\w+\s+){0,2}?(?:work|task|job|session|conversation|chat|project|plan|steps?|implementation|migration|port|rewrite|feature"
    r"|review|investigation|discussion|to-?dos?|list|refactor\w*|fix\w*|debug\w*|test\w*|changes|upgrade|analysis)\b"
)
_DOING = r"(?:work|implement|refactor|fix|debug|writ|port|migrat|build|test|cod|review|develop|investigat|clean|convert)\w*ing\b"
_ON = rf"""(?:
    {_END}
  | \s+(?:please|now|then|again|today|right\ away|until|till|as\ (?:planned|before|discussed|you)|where|from\ (?:where|there|here|the|your|our|my|last|yesterday))\b
  | \s+(?:with|on)\s+(?!(?:(?:a|an|some|the)\s+)?(?:\w+\s+)?(?:{_KIND})|(?:something|anything)\b|error|failure|exception|true|false)
  | \s+work{_END}
  | \s+to\s+(?:the\s+next|work)\b
  | \s+(?:the|this|that|our|your|my|all)\s+{_WORK}
  | \s+(?:what|it)\b(?!\s+(?:is|was|does|returns?)\b)
  | \s+{_DOING}
)"""
_VERB = r"(?:continue|resume|proceed|go\ on|go\ ahead|carry\ on|keep\ (?:going|at\ it|on)|pick\ (?:it\ |this\ |that\ )?(?:back\ )?up|take\ (?:it\ )?up\ again|get\ back\ to\ (?:it|work)|back\ to\ work)"
_GO_ON = re.compile(
    rf"""(?:{_BEFORE})*(?:
        {_VERB}{_ON}
      | keep\s+{_DOING}
      | where\ (?:were\ we|are\ we{_END}|did\ (?:we|you|i)\ (?:stop|leave\ off|get\ to))
      | what(?:'s|\ is|\ was|\ comes)\ (?:the\ )?next(?:\ (?:step|task|thing|up|on\ (?:the|our|your)\ \w+|to\ do))?{_END}
      | (?:do\ )?(?:the\ )?next\ (?:step|task|one){_END}
      | finish\ (?:what\ (?:you|we|i)|(?:it|this|that|the\ (?:rest|job|work|task)){_END})
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_LEFT_OFF = re.compile(r"\bwhere (?:we|you|i|it) (?:had )?(?:left (?:off|it)|stopped|were)\b", re.IGNORECASE)
_FIRST_LINE_CHARS = 400


def asks_to_go_on(prompt: str) -> bool:
    """Whether the prompt begins by asking to go on, or speaks in its first line of where the work was left."""
    words = " ".join(
        prompt.strip().partition("\n")[0].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").split()
    )[:_FIRST_LINE_CHARS]
    return _GO_ON.match(words) is not None or _LEFT_OFF.search(words) is not None
