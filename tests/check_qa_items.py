"""Items for the tests of probes, written for them: short invented passages in fifteen languages, each with sound questions."""

from __future__ import annotations

from typing import Any

#: Language, context, pairs of question and answer; the answer stands in the context as it is written.
_WRITTEN: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    (
        "en",
        "The lighthouse at Port Marrow was built in 1874 by the engineer Ada Quill. It has 308 steps, and three keepers lived there until it was automated.",
        (("How many steps does the lighthouse at Port Marrow have?", "308"), ("Who built the Port Marrow lighthouse?", "Ada Quill"),
         ("How many keepers lived in the Port Marrow lighthouse?", "three"), ("When was the Port Marrow lighthouse built?", "1874")),
    ),
    (
        "de",
        "\ufeffDie Mühle in Altenau wurde 1790 gebaut. Sie mahlte vierundzwanzig Säcke Weizen am Tag und gehörte der Familie Großmann. Die Straße dorthin ist 12 Kilometer lang.",
        (("Wie viele Säcke mahlte die Mühle in Altenau am Tag?", "vierundzwanzig"), ("Welcher Familie gehörte die Mühle in Altenau?", "Großmann"),
         ("Wie lang ist der Weg zur Mühle in Altenau?", "12 Kilometer")),
    ),
    (
        "es",
        "El puente de Valdeluna tiene dieciséis arcos y fue terminado en 1654. Lo diseñó la arquitecta Inés Robledo para cruzar el río Tordo.",
        (("¿Cuántos arcos tiene el puente de Valdeluna?", "dieciséis"), ("¿Qué río cruza el puente de Valdeluna?", "Tordo"),
         ("¿Quién diseñó el puente de Valdeluna?", "Inés Robledo")),
    ),
    (
        "fr",
        "L'observatoire de Montclair possède 7 télescopes. Le plus grand, offert par la baronne d'Évry, pèse quatre-vingt-dix tonnes.",
        (("Combien de télescopes possède l'observatoire de Montclair ?", "7"), ("Qui a offert le plus grand télescope de Montclair ?", "la baronne d'Évry")),
    ),
    (
        "ro",
        "Mănăstirea Valea Lungă are 12 clopote și a fost zidită de meșterul Petru Cioban. În pivniță se păstrează treizeci de butoaie.",
        (("Câte clopote are mănăstirea Valea Lungă?", "12"), ("Cine a zidit mănăstirea Valea Lungă?", "Petru Cioban"),
         ("Câte butoaie se păstrează la Valea Lungă?", "treizeci")),
    ),
    (
        "ru",
        "Музей ветра в Сосновске открыли в 1962 году. В нём двадцать четыре зала, а первым директором была Мария Лебедева.",
        (("Сколько залов в Музее ветра в Сосновске?", "двадцать четыре"), ("Кто был первым директором Музея ветра?", "Мария Лебедева"),
         ("В каком году открыли Музей ветра?", "1962")),
    ),
    (
        "el",
        "Το θέατρο της Καλλινίκης χτίστηκε από τον Δαμιανό και χωράει 90 θεατές. Στη σκηνή του υπάρχουν τρεις πόρτες.",
        (("Πόσους θεατές χωράει το θέατρο της Καλλινίκης;", "90"), ("Ποιος έχτισε το θέατρο της Καλλινίκης;", "Δαμιανό"),
         ("Πόσες πόρτες υπάρχουν στη σκηνή της Καλλινίκης;", "τρεις")),
    ),
    (
        "tr",
        "Ilıca Kalesi'nin on iki kulesi vardır. Kaleyi Şehzade Işık yaptırdı; duvarları 45 metre yüksekliğindedir.",
        (("Ilıca Kalesi'nin kaç kulesi vardır?", "on iki"), ("Ilıca Kalesi'ni kim yaptırdı?", "Şehzade Işık"), ("Ilıca Kalesi'nin duvarları ne kadar yüksektir?", "45 metre")),
    ),
    (
        "vi",
        "Chùa Sơn Lâm có hai mươi mốt bậc đá và được xây năm 1705. Quả chuông nặng 85 cân do thợ Lê Tùng đúc.",
        (("Chùa Sơn Lâm có bao nhiêu bậc đá?", "hai mươi mốt"), ("Ai đã đúc quả chuông của chùa Sơn Lâm?", "Lê Tùng"), ("Quả chuông của chùa Sơn Lâm nặng bao nhiêu?", "85 cân")),
    ),
    (
        "ar",
        "بُنِيَت مكتبةُ الواحة سنة ١٩٢٠ وفيها ثلاثة وعشرون رفًّا. أسسها التاجر يوسف الراوي وتبرع لها بـ ٤٠ كتابا.",
        (("كم رفا في مكتبة الواحة؟", "ثلاثة وعشرون"), ("من أسس مكتبة الواحة؟", "التاجر يوسف الراوي"), ("كم كتابا وُهب لمكتبة الواحة؟", "٤٠")),
    ),
    (
        "hi",
        "सोनपुर के बाँध में ३७ फाटक हैं। इसे इंजीनियर मीरा तलवार ने बनवाया और उद्घाटन पंद्रह लोगों ने देखा।",
        (("सोनपुर के बाँध में कितने फाटक हैं?", "३७"), ("सोनपुर का बाँध किसने बनवाया?", "मीरा तलवार"), ("सोनपुर के बाँध का उद्घाटन कितने लोगों ने देखा?", "पंद्रह")),
    ),
    (
        "th",
        "สะพานดาวเหนือยาว ๑๒ กิโลเมตรและมีเสายี่สิบเอ็ดต้น ออกแบบโดยวิศวกรชื่อมาลี ทองสุข",
        (("สะพานดาวเหนือมีเสากี่ต้น", "ยี่สิบเอ็ด"), ("ใครเป็นผู้ออกแบบสะพานดาวเหนือ", "มาลี ทองสุข"), ("สะพานดาวเหนือยาวเท่าไร", "๑๒ กิโลเมตร")),
    ),
    (
        "zh",
        "云溪茶馆建于１８８８年，共有三十六张桌子。第一任掌柜叫沈知秋，门前的老槐树高25米。",
        (("云溪茶馆共有多少张桌子？", "三十六"), ("云溪茶馆的第一任掌柜是谁？", "沈知秋"), ("云溪茶馆门前的老槐树有多高？", "25米")),
    ),
    (
        "ja",
        "青葉天文台は１９３５年に開かれ、十二台の望遠鏡がある。設計したのは建築家の森田ひかりである。",
        (("青葉天文台には望遠鏡が何台あるか。", "十二"), ("青葉天文台を設計したのは誰か。", "森田ひかり")),
    ),
    (
        "ko",
        "달빛 도서관은 1977년에 문을 열었고 책상이 서른 개 있다. 첫 관장은 한서윤이었다.",
        (("달빛 도서관의 첫 관장은 누구였나?", "한서윤"), ("달빛 도서관은 언제 문을 열었나?", "1977년")),
    ),
)  # fmt: skip


def items() -> list[dict[str, Any]]:
    """All items as rows of a file: ``id`` (``en-0``), question, answer, context, answer_start, language."""
    return [
        {"id": f"{language}-{at}", "question": question, "answer": answer, "context": context, "answer_start": context.index(answer), "language": language}
        for language, context, pairs in _WRITTEN
        for at, (question, answer) in enumerate(pairs)
    ]  # fmt: skip
