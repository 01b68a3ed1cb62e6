"""Number words by language. Hand-made tables: no installed package has them (num2words, babel and ICU are not dependencies).

A line is a value and its spellings, forms of gender and case among them; spellings are folded when they are read, so that accents may be
left out. What is regular (English ``twenty-one``, German ``dreihundertacht``, Chinese 三百零八) is put together by
:mod:`udfs.probes.number_words` from these. Words that are above all articles or adverbs (French *un*, German *ein*) are left out: a
question that holds them states no number.
"""

from __future__ import annotations

_ENGLISH = """0 zero|1 one|2 two|3 three|4 four|5 five|6 six|7 seven|8 eight|9 nine|10 ten|11 eleven|12 twelve dozen|13 thirteen|14 fourteen
15 fifteen|16 sixteen|17 seventeen|18 eighteen|19 nineteen|20 twenty|30 thirty|40 forty fourty|50 fifty|60 sixty|70 seventy|80 eighty|90 ninety
*100 hundred hundreds|*1000 thousand thousands|*1000000 million millions|*1000000000 billion billions|*1000000000000 trillion trillions"""
_GERMAN = """0 null|1 eins|2 zwei zwo|3 drei dreien|4 vier|5 fünf fuenf|6 sechs|7 sieben|8 acht|9 neun|10 zehn|11 elf|12 zwölf zwoelf|13 dreizehn|14 vierzehn
15 fünfzehn fuenfzehn|16 sechzehn|17 siebzehn|18 achtzehn|19 neunzehn|20 zwanzig|30 dreißig|40 vierzig|50 fünfzig fuenfzig|60 sechzig|70 siebzig|80 achtzig|90 neunzig
*100 hundert|*1000 tausend|*1000000 million millionen|*1000000000 milliarde milliarden|*1000000000000 billion billionen"""
_DUTCH = """0 nul|2 twee|3 drie|4 vier|5 vijf|6 zes|7 zeven|8 acht|9 negen|10 tien|11 elf|12 twaalf|13 dertien|14 veertien|15 vijftien|16 zestien|17 zeventien
18 achttien|19 negentien|20 twintig|30 dertig|40 veertig|50 vijftig|60 zestig|70 zeventig|80 tachtig|90 negentig
*100 honderd|*1000 duizend|*1000000 miljoen|*1000000000 miljard"""
_SPANISH = """0 cero|1 uno|2 dos|3 tres|4 cuatro|5 cinco|6 seis|7 siete|8 ocho|9 nueve|10 diez|11 once|12 doce|13 trece|14 catorce|15 quince
16 dieciséis|17 diecisiete|18 dieciocho|19 diecinueve|20 veinte|21 veintiuno veintiuna veintiún|22 veintidós|23 veintitrés|24 veinticuatro|25 veinticinco
26 veintiséis|27 veintisiete|28 veintiocho|29 veintinueve|30 treinta|40 cuarenta|50 cincuenta|60 sesenta|70 setenta|80 ochenta|90 noventa|100 cien ciento
200 doscientos doscientas|300 trescientos trescientas|400 cuatrocientos cuatrocientas|500 quinientos quinientas|600 seiscientos seiscientas
700 setecientos setecientas|800 ochocientos ochocientas|900 novecientos novecientas|*1000 mil miles|*1000000 millón millones"""
_PORTUGUESE = """0 zero|1 um uma|2 dois duas|3 três|4 quatro|5 cinco|6 seis|7 sete|8 oito|9 nove|10 dez|11 onze|12 doze|13 treze|14 catorze quatorze|15 quinze
16 dezesseis dezasseis|17 dezessete dezassete|18 dezoito|19 dezenove dezanove|20 vinte|30 trinta|40 quarenta|50 cinquenta|60 sessenta|70 setenta|80 oitenta
90 noventa|100 cem cento|200 duzentos duzentas|300 trezentos trezentas|400 quatrocentos quatrocentas|500 quinhentos quinhentas|600 seiscentos seiscentas
700 setecentos setecentas|800 oitocentos oitocentas|900 novecentos novecentas|*1000 mil|*1000000 milhão milhões|*1000000000 bilhão bilhões"""
_ITALIAN = """0 zero|2 due|3 tre|4 quattro|5 cinque|6 sei|7 sette|8 otto|9 nove|10 dieci|11 undici|12 dodici|13 tredici|14 quattordici|15 quindici|16 sedici
17 diciassette|18 diciotto|19 diciannove|20 venti|21 ventuno|28 ventotto|30 trenta|31 trentuno|38 trentotto|40 quaranta|41 quarantuno|48 quarantotto
50 cinquanta|51 cinquantuno|58 cinquantotto|60 sessanta|61 sessantuno|68 sessantotto|70 settanta|71 settantuno|78 settantotto|80 ottanta|81 ottantuno
88 ottantotto|90 novanta|91 novantuno|98 novantotto|*100 cento cent|*1000 mille mila|*1000000 milione milioni|*1000000000 miliardo miliardi"""
_FRENCH = """0 zéro|2 deux|3 trois|4 quatre|5 cinq|6 six|7 sept|8 huit|9 neuf|10 dix|11 onze|12 douze|13 treize|14 quatorze|15 quinze|16 seize|20 vingt vingts|30 trente
40 quarante|50 cinquante|60 soixante|70 septante|80 huitante octante|90 nonante|*100 cent cents|*1000 mille|*1000000 million millions|*1000000000 milliard milliards"""
_ROMANIAN = """0 zero|1 unu|2 doi două|3 trei|4 patru|5 cinci|6 șase şase|7 șapte şapte|8 opt|9 nouă|10 zece|11 unsprezece|12 doisprezece douăsprezece|13 treisprezece
14 paisprezece patrusprezece|15 cincisprezece|16 șaisprezece şaisprezece|17 șaptesprezece şaptesprezece|18 optsprezece|19 nouăsprezece|20 douăzeci|30 treizeci|40 patruzeci
50 cincizeci|60 șaizeci şaizeci|70 șaptezeci şaptezeci|80 optzeci|90 nouăzeci|*100 sută sute|*1000 mie mii|*1000000 milion milioane|*1000000000 miliard miliarde"""
_RUSSIAN = """0 ноль нуль|1 один одна одно одного одной|2 два две двух двум двумя двое|3 три трех трем тремя трое
4 четыре четырех четырем четырьмя|5 пять пяти пятью|6 шесть шести шестью|7 семь семи семью|8 восемь восьми восемью
9 девять девяти девятью|10 десять десяти десятью|11 одиннадцать одиннадцати|12 двенадцать двенадцати
13 тринадцать тринадцати|14 четырнадцать четырнадцати|15 пятнадцать пятнадцати|16 шестнадцать шестнадцати
17 семнадцать семнадцати|18 восемнадцать восемнадцати|19 девятнадцать девятнадцати|20 двадцать двадцати
30 тридцать тридцати|40 сорок сорока|50 пятьдесят пятидесяти|60 шестьдесят шестидесяти|70 семьдесят семидесяти
80 восемьдесят восьмидесяти|90 девяносто девяноста|100 сто ста|200 двести двухсот|300 триста трехсот|400 четыреста четырехсот
500 пятьсот пятисот|600 шестьсот шестисот|700 семьсот семисот|800 восемьсот восьмисот|900 девятьсот девятисот
*1000 тысяча тысячи тысяч тысячу|*1000000 миллион миллиона миллионов|*1000000000 миллиард миллиарда миллиардов"""
_GREEK = """0 μηδέν|1 ένας ένα έναν ενός|2 δύο δυο|3 τρεις τρία τριών|4 τέσσερις τέσσερα τεσσάρων|5 πέντε|6 έξι|7 επτά εφτά|8 οκτώ οχτώ|9 εννέα εννιά|10 δέκα
11 έντεκα ένδεκα|12 δώδεκα|13 δεκατρείς δεκατρία|14 δεκατέσσερις δεκατέσσερα|15 δεκαπέντε|16 δεκαέξι δεκάξι|17 δεκαεπτά δεκαεφτά|18 δεκαοκτώ δεκαοχτώ|19 δεκαεννέα δεκαεννιά
20 είκοσι|30 τριάντα|40 σαράντα|50 πενήντα|60 εξήντα|70 εβδομήντα|80 ογδόντα|90 ενενήντα|100 εκατό εκατόν|200 διακόσια διακόσιοι διακόσιες|300 τριακόσια τριακόσιοι τριακόσιες
400 τετρακόσια τετρακόσιοι τετρακόσιες|500 πεντακόσια πεντακόσιοι πεντακόσιες|600 εξακόσια εξακόσιοι εξακόσιες|700 επτακόσια επτακόσιοι εφτακόσια
800 οκτακόσια οχτακόσια οκτακόσιοι|900 εννιακόσια εννεακόσια εννιακόσιοι|*1000 χίλια χίλιοι χίλιες χιλιάδες χιλιάδων|*1000000 εκατομμύριο εκατομμύρια εκατομμυρίων
*1000000000 δισεκατομμύριο δισεκατομμύρια δισεκατομμυρίων"""
_TURKISH = """0 sıfır|1 bir|2 iki|3 üç|4 dört|5 beş|6 altı|7 yedi|8 sekiz|9 dokuz|10 on|20 yirmi|30 otuz|40 kırk|50 elli|60 altmış|70 yetmiş|80 seksen|90 doksan
*100 yüz|*1000 bin|*1000000 milyon|*1000000000 milyar|*1000000000000 trilyon"""
_VIETNAMESE = """0 không|1 một mốt|2 hai|3 ba|4 bốn tư|5 năm lăm|6 sáu|7 bảy bẩy|8 tám|9 chín|10 mười|*10 mươi|*100 trăm|*1000 nghìn ngàn|*1000000 triệu|*1000000000 tỷ tỉ"""
_ARABIC = """0 صفر|1 واحد واحدة أحد إحدى|2 اثنا اثني اثنتا اثنان اثنين اثنتان اثنتين إثنان إثنين|3 ثلاثة ثلاث|4 أربعة أربع|5 خمسة خمس|6 ستة ست|7 سبعة سبع|8 ثمانية ثماني ثمان|9 تسعة تسع|10 عشرة عشر
20 عشرون عشرين|30 ثلاثون ثلاثين|40 أربعون أربعين|50 خمسون خمسين|60 ستون ستين|70 سبعون سبعين|80 ثمانون ثمانين|90 تسعون تسعين|*100 مائة مئة|200 مائتان مائتين مئتان مئتين
300 ثلاثمائة ثلاثمئة|400 أربعمائة أربعمئة|500 خمسمائة خمسمئة|600 ستمائة ستمئة|700 سبعمائة سبعمئة|800 ثمانمائة ثمانمئة|900 تسعمائة تسعمئة
*1000 ألف آلاف ألفا|2000 ألفان ألفين|*1000000 مليون ملايين|2000000 مليونان مليونين|*1000000000 مليار مليارات بليون"""
_HINDI = """0 शून्य|1 एक|2 दो|3 तीन|4 चार|5 पांच पाँच|6 छह छः छ|7 सात|8 आठ|9 नौ|10 दस|11 ग्यारह|12 बारह|13 तेरह|14 चौदह|15 पंद्रह पन्द्रह|16 सोलह|17 सत्रह|18 अठारह अट्ठारह|19 उन्नीस
20 बीस|21 इक्कीस|22 बाईस बाइस|23 तेईस तेइस|24 चौबीस|25 पच्चीस|26 छब्बीस|27 सत्ताईस सत्ताइस|28 अट्ठाईस अट्ठाइस अठाईस|29 उनतीस उन्तीस|30 तीस|31 इकतीस इकत्तीस|32 बत्तीस|33 तैंतीस|34 चौंतीस
35 पैंतीस|36 छत्तीस|37 सैंतीस|38 अड़तीस|39 उनतालीस|40 चालीस|41 इकतालीस|42 बयालीस|43 तैंतालीस|44 चौवालीस चवालीस|45 पैंतालीस|46 छियालीस|47 सैंतालीस|48 अड़तालीस|49 उनचास|50 पचास
51 इक्यावन|52 बावन|53 तिरपन तिरेपन|54 चौवन|55 पचपन|56 छप्पन|57 सत्तावन|58 अट्ठावन अठावन|59 उनसठ|60 साठ|61 इकसठ|62 बासठ|63 तिरसठ|64 चौंसठ|65 पैंसठ|66 छियासठ|67 सड़सठ|68 अड़सठ|69 उनहत्तर
70 सत्तर|71 इकहत्तर|72 बहत्तर|73 तिहत्तर|74 चौहत्तर|75 पचहत्तर|76 छिहत्तर|77 सतहत्तर|78 अठहत्तर|79 उन्यासी उनासी|80 अस्सी|81 इक्यासी|82 बयासी|83 तिरासी|84 चौरासी|85 पचासी|86 छियासी|87 सत्तासी
88 अट्ठासी अठासी|89 नवासी|90 नब्बे|91 इक्यानवे इक्यानबे|92 बानवे बानबे|93 तिरानवे तिरानबे|94 चौरानवे चौरानबे|95 पचानवे पंचानवे पचानबे|96 छियानवे छियानबे|97 सत्तानवे सत्तानबे
98 अट्ठानवे अट्ठानबे|99 निन्यानवे निन्यानबे|*100 सौ|*1000 हजार हज़ार|*100000 लाख|*10000000 करोड़|*1000000 मिलियन|*1000000000 अरब बिलियन"""
_THAI = """0 ศูนย์|1 หนึ่ง เอ็ด|2 สอง ยี่|3 สาม|4 สี่|5 ห้า|6 หก|7 เจ็ด|8 แปด|9 เก้า|*10 สิบ|*100 ร้อย|*1000 พัน|*10000 หมื่น|*100000 แสน|*1000000 ล้าน"""
_HAN = (
    """0 零 〇|1 一|2 二 两 兩|3 三|4 四|5 五|6 六|7 七|8 八|9 九|*10 十|*100 百|*1000 千|*10000 万 萬|*100000000 亿 億|*1000000000000 兆"""
)
_KOREAN = """0 영 공|1 하나 한 일|2 둘 두 이|3 셋 세 삼|4 넷 네 사|5 다섯 오|6 여섯 육|7 일곱 칠|8 여덟 팔|9 아홉 구|10 열|*10 십|20 스물 스무|30 서른|40 마흔|50 쉰|60 예순|70 일흔|80 여든|90 아흔
*100 백|*1000 천|*10000 만|*100000000 억"""

#: Language -> its words, ``value word ...`` between bars or line ends; ``*`` before a value: what stands before is multiplied by it.
WORDS: dict[str, str] = {
    "en": _ENGLISH, "de": _GERMAN, "nl": _DUTCH, "es": _SPANISH, "pt": _PORTUGUESE, "it": _ITALIAN, "fr": _FRENCH, "ro": _ROMANIAN, "ru": _RUSSIAN,
    "el": _GREEK, "tr": _TURKISH, "vi": _VIETNAMESE, "ar": _ARABIC, "hi": _HINDI, "th": _THAI, "zh": _HAN, "ja": _HAN, "ko": _KOREAN,
}  # fmt: skip
#: Words between the parts of one number.
JOINERS: dict[str, frozenset[str]] = {
    "en": frozenset({"and", "oh"}), "de": frozenset({"und"}), "nl": frozenset({"en"}), "es": frozenset({"y"}), "pt": frozenset({"e"}),
    "it": frozenset({"e"}), "fr": frozenset({"et"}), "ro": frozenset({"și", "şi", "de"}), "el": frozenset({"και"}), "vi": frozenset({"linh", "lẻ", "lẽ"}),
    "ar": frozenset({"و"}),
}  # fmt: skip
#: Languages that write a number as one word, or the word for "and" onto the next one.
COMPOUNDS = frozenset({"de", "nl", "it", "ar", "tr", "ko"})
#: Languages whose ones come before the tens: *einundzwanzig*.
ONES_FIRST = frozenset({"de", "nl", "ar"})
#: Words that also have another sense (an article, a year, "on"): they state a number only to an answer that is a bare number.
AMBIGUOUS: dict[str, frozenset[str]] = {
    "en": frozenset({"one"}), "es": frozenset({"uno"}), "el": frozenset({"ένας", "ένα", "έναν", "ενός"}), "tr": frozenset({"bir", "on"}),
    "vi": frozenset({"một", "năm", "không", "ba", "tư", "chín"}), "hi": frozenset({"एक", "दो"}), "ru": frozenset({"один", "одна", "одно", "одного", "одной"}),
    "zh": frozenset({"一"}), "ja": frozenset({"一"}), "th": frozenset({"หนึ่ง", "สี่", "ยี่"}), "ko": frozenset({"한", "두", "세", "네", "공", "영", "이", "일", "사", "오", "구"}),
    "ar": frozenset({"واحد", "واحدة"}), "de": frozenset({"acht"}), "ro": frozenset({"nouă"}), "fr": frozenset({"neuf"}), "pt": frozenset({"um", "uma"}), "it": frozenset({"sei"}),
}  # fmt: skip
#: Words that are added to another number only behind a joiner: Vietnamese *hai mươi năm* is twenty years, 25 is *hai mươi lăm*.
APART: dict[str, frozenset[str]] = {"vi": frozenset({"năm"})}
#: Words that only begin like a number.
NOT_NUMBERS: dict[str, tuple[str, ...]] = {
    "th": ("สามารถ", "สามี", "สามัญ", "พันธุ์", "พันธ์"),
    "zh": ("一些", "一样", "一起", "十分"),
    "ja": ("一緒",),
}
