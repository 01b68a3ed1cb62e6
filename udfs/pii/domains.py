"""Top-level domains: what an address ends in, and a file name, a version or a decorator does not."""

#: Country codes that are delegated (ISO 3166-1 and the exceptions eu, uk, su, ac).
_COUNTRIES = """
ac ad ae af ag ai al am ao aq ar as at au aw ax az ba bb bd be bf bg bh bi bj bm bn bo br bs bt bw by bz ca cc cd cf cg ch ci ck cl cm cn co cr cu cv cw
cx cy cz de dj dk dm do dz ec ee eg er es et eu fi fj fk fm fo fr ga gd ge gf gg gh gi gl gm gn gp gq gr gs gt gu gw gy hk hm hn hr ht hu id ie il im in io
iq ir is it je jm jo jp ke kg kh ki km kn kp kr kw ky kz la lb lc li lk lr ls lt lu lv ly ma mc md me mg mh mk ml mm mn mo mp mq mr ms mt mu mv mw mx my mz
na nc ne nf ng ni nl no np nr nu nz om pa pe pf pg ph pk pl pm pn pr ps pt pw py qa re ro rs ru rw sa sb sc sd se sg sh si sk sl sm sn so sr ss st su sv sx
sy sz tc td tf tg th tj tk tl tm tn to tr tt tv tw tz ua ug uk us uy uz va vc ve vg vi vn vu wf ws ye yt za zm zw
"""
#: Generic ones that carry mail. A list, because any word may follow a dot in code: what is missing here is left unmasked.
_GENERIC = """
aero agency app art asia band biz blog cat center church cloud club codes coffee com community company consulting coop design dev digital edu education email
energy engineering expert finance fund global gov group guide guru health help house info inc institute int international jobs law legal life live llc ltd
media mil mobi museum name net network news ninja one online org page partners post pro pub rocks school science services shop site social software solutions
space store studio support systems team tech technology tel today tools top training travel university ventures video website wiki work works world xyz zone
"""
TOP_LEVEL = frozenset((_COUNTRIES + _GENERIC).split())

#: Names set aside for examples and tests (RFC 2606, RFC 6761): nobody's address.
RESERVED_NAMES = frozenset({"example.com", "example.net", "example.org", "example.edu"})
RESERVED_TOP_LEVEL = frozenset({"example", "invalid", "localhost", "test", "local", "internal"})

#: Country codes that are endings of files as well: an address there has more than one dot, as those of com.py do.
ALSO_FILES = frozenset({"md", "ps", "py", "sh", "so"})
