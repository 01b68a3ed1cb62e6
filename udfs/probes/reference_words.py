"""Words that point at something said before, by language: what a question that is read alone leaves open. Hand-made lists.

Left out is what more often does something else: *it* and *es* without a sense of their own, Arabic *huwa* (is), French *ce* and *il*
(est-ce, y a-t-il), Romanian *lui* (a case marker), Spanish *el*; so the probe sees a part of the cases and says which word it saw.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class References:
    """What points back in one language.

    Attributes:
        pointers: pronouns and demonstratives, normalised (accents kept): one name before them in the question may be what they mean.
        passage: nouns for the text that the question was made from; behind one of ``articles`` where there are any.
        articles: definite articles.
        roles: nouns that, with an article and without any name or number in the question, leave open which one.
        not_these: words that only contain a pointer, in scripts without spaces.
    """

    pointers: frozenset[str]
    passage: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    roles: frozenset[str] = frozenset()
    not_these: tuple[str, ...] = ()


def _some(pointers: str, passage: str = "", articles: str = "", roles: str = "", not_these: str = "") -> References:
    pointing, text, article, role = (frozenset(said.split()) for said in (pointers, passage, articles, roles))
    return References(pointing, text, article, role, tuple(not_these.split()))


REFERENCES: dict[str, References] = {
    "en": _some(
        "he him his she her hers they them their theirs its himself herself themselves this these those",
        "passage text paragraph article excerpt author narrator",
        "the",
        "game match season team teams league film movie book song album king queen president war battle company city country treaty bill law study act man woman"
        " leader group church building series show character",
    ),
    "de": _some(
        "er ihm ihn sie ihr ihre ihren ihrem ihrer seine seinen seinem seiner dieser diese dieses diesem diesen jener jene jenes",
        "text abschnitt absatz artikel autor textes",
        "der die das dem den des im",
        "spiel mannschaft team liga film buch lied könig königin präsident krieg schlacht firma stadt land vertrag gesetz serie gruppe kirche",
    ),
    "nl": _some("hij hem zij ze haar hun deze dit", "tekst passage artikel alinea auteur", "de het", "wedstrijd ploeg film boek koning oorlog stad"),
    "es": _some("él ella ellos ellas este esta estos estas ese esa esos esas aquel aquella su sus dicho dicha", "texto pasaje párrafo artículo autor", "el del al la", "partido equipo película libro rey reina guerra ciudad"),
    "pt": _some("ele ela eles elas dele dela este esta estes estas esse essa esses essas aquele aquela seu sua seus suas", "texto trecho parágrafo artigo autor", "o do no a", "jogo time equipe filme livro rei guerra cidade"),
    "it": _some("egli lui lei loro questo questa questi queste quel quella quei quelle suo sua suoi sue", "testo brano paragrafo articolo autore", "il del nel l", "partita squadra film libro re guerra città"),
    "fr": _some("elle elles ils eux leur leurs cet cette ces celui celle sa ses", "texte passage paragraphe article auteur", "le l la du", "match équipe film livre roi reine guerre ville"),
    "ro": _some("el ea ei ele acest această acesta aceasta aceste acești acestui acestei acestor aceea acel acea său saú săi", "textul pasajul paragraful articolul autorul textului"),
    "ru": _some("он она оно они его её ее их ему ей им него нее неё них этот эта эти этого этой этих этому этом этим тот та те того данный данная", "тексте отрывке абзаце статье автор текст"),
    "el": _some("αυτός αυτή αυτό αυτοί αυτές αυτά αυτού αυτής αυτών αυτόν αυτήν εκείνος εκείνη εκείνο", "κείμενο απόσπασμα άρθρο συγγραφέας"),
    "tr": _some("o onun onu ona onlar onların bu şu bunun bunlar bunların bunu buna", "metinde metne parçada paragrafta makalede yazar"),
    "vi": _some("nó họ này đó ấy kia", "văn"),
    "ar": _some("هذا هذه هؤلاء ذلك تلك أولئك لهذا لهذه بهذا بهذه وهذا وهذه", "النص المقال الفقرة الكاتب"),
    "hi": _some("वह वे उसने उसका उसके उसकी उसे उन्होंने उनका उनके उनकी उन्हें यह ये इस इन इसका इसके इसकी इसे इनके", "गद्यांश लेखक अनुच्छेद"),
    "th": _some("พวกเขา ของเขา เธอ นี้ นั้น เหล่านี้ เหล่านั้น ดังกล่าว", "บทความ ข้อความ", not_these="นอกจากนี้"),
    "zh": _some("他 她 它 这 這 那 该 該 此 其", "文中 本文 文章 作者", not_these="其他 其它 其中 其余 其实 尤其 土耳其 吉他 应该 应該 因此 此外 如此 彼此 那么 刹那 他人"),
    "ja": _some("彼 この その それ これ あの 当該", "本文 文章 筆者", not_these="彼岸 そのまま それぞれ"),
    "ko": _some("그 그는 그가 그의 그녀 그녀는 그녀의 그들 그들은 그들의 이것 그것 이 이러한", "본문 글쓴이"),
}  # fmt: skip
#: Languages whose questions may begin with what they are about; elsewhere a capital at the start is that of a sentence.
TOPIC_FIRST = frozenset({"tr", "vi"})
#: Languages without capitals: what may be a name is told by how many words stand before.
CASELESS = frozenset({"ar", "hi", "th", "zh", "ja", "ko"})
