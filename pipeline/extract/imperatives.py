"""Does an English sentence begin as a command does?"""

from __future__ import annotations

import re

VERBS = frozenset(
    """
    abort accept access account acknowledge add address adhere adjust adopt advise align allow analyze annotate
    answer append apply approach ask assert assess assign assume attach attempt audit authenticate avoid back base
    batch be begin benchmark bind block break build bump bundle cache calculate call cancel capture catch chain
    change check choose cite clarify clean clear clone close coerce collect combine comment commit communicate
    compare compile complete compose compress compute condense configure confirm connect consider consolidate
    construct consult consume contain continue convert coordinate copy cover create cut debounce debug declare
    decompose decouple deduplicate default defer define delegate delete deliver demonstrate deploy derive describe
    design destructure detect determine develop disable disclose discuss display distinguish divide do document
    don't double draft drop duplicate edit elaborate eliminate embed embrace emit emphasize employ enable
    encapsulate encode encourage encrypt end enforce ensure enumerate escalate escape establish estimate evaluate
    examine exclude execute exit expect explain expose express extend extract fail favor favour fetch fill filter
    find finish fix flag flatten focus follow force format formulate forward freeze gate gather generate get give go
    group guarantee guard guide handle hash have hide highlight hold hook identify ignore implement import improve
    include increment indent inform inherit initialize inject inline insert inspect install integrate invalidate
    investigate invoke isolate iterate join justify keep label launch lazy-load learn leave let leverage limit link
    lint list load localize lock log look loop maintain make manage map mark match maximize measure memoize mention
    merge migrate minimize mirror mock model modify monitor mount move name narrow nest never normalize note notify
    observe offload omit open optimize order organize outline overload override own paginate parallelize
    parameterize parse pass pause perform persist pick pin place plan point poll pool populate practice prefer
    prefix prepare present preserve prevent prioritize process produce profile prompt propagate propose protect
    prove provide publish pull push put query quote raise rate-limit reach read rebase rebuild recommend record
    reduce refactor refer reference refine regenerate register reject rely remain remember remove rename render
    reorder repeat replace reply report reproduce request require rerun research reset resolve respect respond
    restart restrict retain retry return reuse revert review revise rewrite rollback rotate round route run sanitize
    save scaffold scan schedule scope search secure select send separate serialize serve set share ship show sign
    simplify skip slice solve sort specify split squash stage standardize start state stay stick stop store stream
    strengthen strip structure study style submit subscribe suggest summarize support suppress surface switch sync
    tag tailor take target tell terminate test think throttle throw tie track transform translate treat triage
    trigger trim troubleshoot trust try tune type understand undo unify unsubscribe update upgrade upload use
    utilize validate vary verify version view visit wait walk warn watch weigh work wrap write yield
    """.split()  # noqa: SIM905 (as a list it fills four screens)
)
"""Verbs that commands to people who write software begin with. Our own list: read, and lengthened, against the rule
files of the projects in docs/real-projects.md."""

_NOUNS = frozenset(
    """
    access address attempt audit back base batch benchmark block break build bundle cache call change close comment
    compile copy debug default delete deploy design develop display draft duplicate edit end escape estimate exit
    expect export extract fill filter flag focus freeze gate guide hash hook import increment index inline input
    issue label launch link lint list log look loop map mark match measure model monitor mount note offset order
    outline override pass pause pin point poll pool practice process profile prompt quote range reference research
    rest restart result rollback round route sample scan scope score ship signal source stage standard state step
    stream structure style summary surface test theme track transform treat trigger tune upload version view walk
    """.split()  # noqa: SIM905
)
"""Verbs that are nouns as well: they command where an object follows that no compound noun has."""

_OBJECT = re.compile(
    r"^\s+(?:the|a|an|all|any|each|every|both|either|only|your|our|its|their|this|that|these|those|new|one|two|it|them|"
    r"no|not|in|on|at|to|for|with|without|from|by|as|of|and|or|up|out|until|before|after|when|if|against|via|into|"
    r"individual|existing|appropriate|proper|clear|consistent|specific|descriptive|meaningful|small|short|long|full|"
    r"correct|explicit|type|snake_case|camelCase|kebab-case|PascalCase|double|single|async|\w+ly|\S*[`_./@#(]\S*|[A-Z]\w*)\b"
)
_MAPS = re.compile(r"^(?:\S+\s+){1,5}(?:\u2192|->|=>)\s")
"""`Find usages \u2192 search`: a table in the form of a list."""

_LEAD = re.compile(
    r"^(?:[^\w\s]+\s*)?(?:(?:please|always|never|only|also|then|first|instead|explicitly|carefully|consistently|"
    r"properly|regularly|thoroughly|clearly|strictly|immediately)\s+)*",
    re.IGNORECASE,
)
_WHEN = re.compile(
    r"^(?:when|if|before|after|for|in|on|by default|unless|while|during|once|where)\b[^,.;]{3,120},\s+", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z][A-Za-z'\u2019-]*")
_LABEL = re.compile(r"^[^.:!?]{1,60}:\s+(?=\S)")
_NOT_A_COMMAND = re.compile(r"^(?:\w+)\s+(?:is|are|was|were|has|have|of|and its)\b", re.IGNORECASE)
"""`Test is green`, `Version of …`: the first word is a noun there."""


LABEL_WORDS = 4
"""`Commit messages: follow …`; more words before a colon are a command themselves."""


def is_imperative(content: str) -> bool:
    """`Use X`, `When Y, write Z`, `Errors: return them` (a label before it), each without Markdown's marks."""
    if _NOT_A_COMMAND.match(content) or _MAPS.match(content) or (content.endswith(":") and len(content.split()) < 4):
        return False
    label = _LABEL.match(content)
    if label and len(label.group(0).split()) <= LABEL_WORDS:
        return _begins(content[label.end() :])
    when = _WHEN.match(content)
    return _begins(content) or (when is not None and _begins(content[when.end() :]))


def _begins(content: str) -> bool:
    lead = _LEAD.match(content)
    rest = content[lead.end() :] if lead else content
    word = _WORD.match(rest)
    if word is None or word.group(0).lower().replace("\u2019", "'") not in VERBS:
        return False
    behind = rest[word.end() :]
    if word.group(0).lower() in _NOUNS and not _OBJECT.match(behind):
        return False
    return behind[:1] in (" ", "-", "") and behind[:2] != " (" and len(behind.split()) >= 1
