"""Word lists of the rules: what makes a sentence lean on its surroundings, and what carries no information in an answer."""

from __future__ import annotations

import re


def words_regex(words: str) -> re.Pattern[str]:
    """One alternation over whole words, case ignored."""
    return re.compile(
        r"(?<![\w-])(?:" + "|".join(sorted(map(re.escape, words.split()), key=lambda w: (-len(w), w))) + r")(?![\w-])", re.IGNORECASE
    )


def word_set(words: str) -> frozenset[str]:
    """The words of a string."""
    return frozenset(words.split())


#: Discourse and deixis: the sentence points at something outside of it.
DEICTIC = words_regex(
    "however this these those also former formerly latter above below following previous previously here there then now therefore thus "
    "hence instead another other others otherwise such same both either neither meanwhile later earlier subsequently finally next again still yet "
    "furthermore moreover additionally nevertheless nonetheless similarly likewise today currently recently respectively example e.g. i.e. "
    "see section note notes chapter figure table page appendix hereby herein thereof hereunder aforementioned said "
    "afterwards afterward thereafter soon ago since eventually already too even though although despite unlike instead "
    "information specification documentation documented rather accordingly consequently contrast addition besides else elsewhere ones latest newest"
)

#: Subordination: what is asked stands in a clause that something else governs.
SUBORDINATE = words_regex(
    "which who whom whose that because although though while whereas whether if unless when where why how until once but or nor"
)

#: Pronouns without a name in the sentence's head to stand for.
PRONOUN = words_regex(
    "he she it they we i you him them us me his her hers its their theirs our ours your yours my mine himself herself itself themselves one"
)

#: Names of nothing in particular.
METAVARIABLE = words_regex("foo bar baz qux quux spam eggs ham xyz abc obj fn func arg kwarg args kwargs lhs rhs expr stmt tmp")

MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")

#: Words that neither carry an answer nor give one away.
STOPWORDS = word_set(
    "a an the of in on at by to for from with without as is are was were be been being and or not no nor but if then than that this these those it its "
    "he she they his her their which who whom whose what when where why how do does did has have had will would can could shall should may might must "
    "into onto over under up down out off about after before between through during per via all any each every some none only just so such there here "
    "you your we our us i me my them him also"
)

#: Parts of identifiers that hundreds of names share: equal ones give nothing away.
GENERIC_PARTS = word_set("error exception warning base object class type mixin abstract python py default")

#: Python's built-in singletons, and other answers that a guess hits too often to be preferred.
COMMON_DEFAULTS = frozenset(("None", "True", "False", "0", "1"))

ABBREVIATIONS = word_set(
    "dr mr mrs ms st prof sr jr vs etc e.g i.e cf al no nos vol pp p fig inc ltd co corp gen col lt sgt capt rev hon u.s u.k ph.d approx "
    "ca c dept est jan feb mar apr jun jul aug sep sept oct nov dec eq sec ref refs"
)
