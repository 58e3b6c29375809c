"""Writes what src/text/wordpiece.ts is checked against, with the reference tokenizer (PyPI: tokenizers).

    python scripts/wordpiece-golden.py TEACHER/tokenizer.json            writes the golden file and the class tables
    python scripts/wordpiece-golden.py TEACHER/tokenizer.json --fuzz N   prints N random texts with their ids as JSON

Only the vocabulary is taken from tokenizer.json. Special tokens are left out, so that "[CLS]" in a text is
read as brackets and letters, as the TypeScript tokenizer reads it.
"""

import json
import random
import sys
from pathlib import Path

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "text" / "wordpiece-golden.json"
TABLES = ROOT / "src" / "text" / "wordpiece-unicode.ts"

WRITTEN = [
    # Nothing, and nearly nothing.
    "", " ", "\t\n\r", "a", "A", "!", "\u00a0", "\u3000", "\u200b", "\ufeff", "\ufffd", "\x00", "\u00ad",
    # English as people write it.
    "Hello, world!", "I can't believe it's not butter.", "unaffable", "the quick brown fox jumps over the lazy dog",
    "Melanie: I painted a sunrise last year :)", "e-mail me@example.com or https://example.com/a?b=c&d=%20#e",
    "C++ > C# && node_modules/.bin/tsx --flag=1 | wc -l", "3.14159 1,000,000 10^-3 2023-05-08T13:56:00Z",
    "snake_case camelCase kebab-case SCREAMING_CASE", "$5.00 €5,00 £5 ¥500 ₹500 ₿1", "don’t “quote” ‘me’ — ever…",
    "Dr. Smith's 2nd-best co-op's re-entry", "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "[CLS] [SEP] [MASK] [UNK] [PAD] [unused1]", "##ing ## # ###", "a##b", "...---...", "«guillemets» ‹single›",
    # Long words: 100 characters is the last that is looked up.
    "a" * 99, "a" * 100, "a" * 101, "é" * 100, "é" * 101, "x" * 100 + " y", "x" * 101 + " y", "the" * 33 + "x",
    "𐐷" * 100, "𐐷" * 101, "ﷺ" * 40, "a\u0301" * 100, "a\u0301" * 101, ("a" * 60 + "-") * 3,
    # Accents, composed and not.
    "café", "cafe\u0301", "naïve façade jalapeño", "Ångström A\u030angstro\u0308m \u212bngstr\u00f6m", "Zoë Brontë",
    "Zażółć gęślą jaźń", "Příliš žluťoučký kůň", "Árvíztűrő tükörfúrógép", "Falsches Üben von Xylophonmusik quält",
    "Größe GROẞE große", "œuvre Æther ĳs Ĳs ŉ ǆ ǅ Ǆ", "Đorđe Łódź Øre ħ ı ŧ", "a\u0328\u0301 a\u0301\u0328", "o\u0304\u0303\u0301\u0323",
    "q\u0307\u0323 q\u0323\u0307", "\u0301 alone \u0301", "x\u20dd enclosed \u20e3 1\u20e3",
    # Cases that lower case gets wrong.
    "ΟΔΥΣΣΕΥΣ Ὀδυσσεύς ΣΑΣ Σ ς σ", "ΣΊΣΥΦΟΣ.", "İstanbul Isparta ısı IĞDIR iğdir İ", "I\u0307 i\u0307 j\u030c", "ẞ ß ſ ﬁ ﬀ ﬃ ﬅ",
    "K (Kelvin) Å (Angstrom) Ω (Ohm)", "Ⓐ ⓐ Ⅻ ⅻ ℌ ℡ ™ №", "𝐇𝐞𝐥𝐥𝐨 𝓗𝓮𝓵𝓵𝓸 𝕙 𝟙𝟚𝟛", "ＦＵＬＬ ｗｉｄｔｈ １２３ ！？", "𐐀𐐁𐐂 𐐨𐐩𐐪 𞤀𞤢",
    "ᲐᲑᲒ აბგ ⴀⴁ", "ꭰꭱ Ꭰ Ꮳ ᏸ", "ᾳ ᾼ ῼ ᾈ ᾀ \u0345",
    # Scripts of the world.
    "Привет, как дела? Ёжик подъехал к йогурту", "Україна їжак ґанок", "Ћирилица љубав џеп", "Бълг\u0430рия",
    "Γειά σου Κόσμε, τι κάνεις;", "Բարեւ աշխարհ։ ՀԱՅԱՍՏԱՆ եւ և", "გამარჯობა მსოფლიო", "שלום עולם שָׁלוֹם", "ספר ־ ״גרשיים״ ׳",
    "مرحبا بالعالم", "السَّلَامُ عَلَيْكُمْ", "ﻣﺮﺣﺒﺎ ﷲ", "سلام دنیا می‌خواهم", "اردو میں ہے، ٹھیک؟ ۔", "ܫܠܡܐ ܥܠܡܐ",
    "नमस्ते दुनिया क्षत्रिय", "বাংলা ভাষা কি", "ਪੰਜਾਬੀ ਬੋਲੀ", "ગુજરાતી ભાષા", "ଓଡ଼ିଆ", "தமிழ் மொழி", "తెలుగు భాష", "ಕನ್ನಡ ನುಡಿ",
    "മലയാളം ഭാഷ", "සිංහල භාෂාව", "ภาษาไทยไม่มีช่องว่าง", "ພາສາລາວ", "བོད་ཡིག།", "မြန်မာဘာသာ", "ភាសាខ្មែរ។", "ᠮᠣᠩᠭᠣᠯ", "አማርኛ፡ ሰላም።",
    "ᐃᓄᒃᑎᑐᑦ", "ꦧꦱꦗꦮ", "ᬅᬓ᭄ᬱᬭ", "ꆈꌠꁱꂷ", "𐌲𐌿𐍄𐌹𐍃𐌺", "𓂀𓃒", "𒀭𒈗", "ϯⲙⲉⲧⲣⲉⲙⲛⲭⲏⲙⲓ", "ᚠᚢᚦᚨᚱᚲ", "᚛ᚑᚌᚐᚋ᚜",
    "中文和English混排，没有空格。", "繁體中文「引號」", "日本語のテスト、カタカナとひらがな。", "ｶﾀｶﾅ ｶﾞ ガ カ\u3099 ぱ は\u309a", "한국어 테스트입니다", "한글 각 ㄱㅏㄱ",
    "〆切 々 〇 ヶ ー 々々", "豈更車 金 祥 視", "𠮷野家 𠀀 𪜶 𫝀 𫠝 \U0002b81e\U0002b820\U0002b91f\U0002b920 \U0002ceb0 \U00030000", "丽 你 \U0002fa1d",
    "㐀 㒲 䶵 䶿 ䷀ 鿿 鿕", "㈱ ㍿ ㎏ ㊗", "Việt Nam: tiếng Việt có dấu, ườm ƯỜM", "Tiếng\u00a0Việt", "Yorùbá ẹ̀kọ́ ọ̀rọ̀", "Hawaiʻi ʻokina",
    # Emoji and symbols.
    "😀", "I love it 😍😍😍!!!", "👩‍👩‍👧‍👦 family", "👍🏽 ok", "🇨🇭🇯🇵", "❤️ ❤ ☺︎", "1️⃣ #️⃣ *️⃣", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "→ ⇒ ↔ ∀x∈ℝ: x²≥0 ∎ ∑ ∫ √2 ≠ ≤",
    "½ ¾ ⅓ ² ³ ¹ ₂ ª º", "© ® ™ § ¶ † ‡ • ·", "¿Qué? ¡No!", "♠♣♥♦ ♪♫ ★☆ ✓✗", "┌─┐│└┘ ▀▄█ ░▒▓", "⠓⠑⠇⠇⠕", "🀄🂡 𝄞 𝅘𝅥𝅮",
    # White space, controls and what cannot be seen.
    "a\u00a0b\u2003c\u2009d\u202fe\u205ff\u3000g\u1680h", "a\u2028b\u2029c\x85d\x0be\x0cf", "a\u200bb\u200cc\u200dd\u2060e\ufefff", "soft\u00adhyphen",
    "\u202eright to left\u202c \u2066isolate\u2069", "a\x00b\x01c\x1fd\x7fe\x9ff", "tab\tand\nline\r\nend", "a\ufffdb\ufffcc\ufff9d", "x\U000e0001y\U000e0041z",
    "private \ue000\uf8ff use \U000f0000 \U0010fffd", "noncharacter \ufdd0\uffff\U0001ffff", "unassigned \u0378\u0379 \U000e0fff",
    "variation \ufe0e\ufe0f\U000e0100", "a\u180eb \u061c \u2061 \u206f", "hangul filler \u3164\u115f\uffa0", "braille blank \u2800",
    # Punctuation of other scripts, and marks that look like it.
    "؟ ، ؛ ٪ ٫ ۔", "। ॥ ॰", "。、「」『』【】〜～…‥・", "՝ ՞ ։ ֊", "፡ ። ፣", "፟ ៖ ៙ ‰ ‱ ′ ″ ‴", "‐ ‑ ‒ – — ― ⸺ ⸻", "$ + < = > ^ ` | ~",
    "´ ¨ ¸ ˇ ˘ ˙ ˚ ˛", "¦ ¬ ¯ ± × ÷", "\u037e greek question", "\u1fef\u1ffd\u0387", "⟨x|y⟩ ⟦z⟧ ❨❩ ⦃⦄", "‼ ⁇ ⁈ ⁉ ⁂ ⁎", "\u2e43 \u2e52 \u061d \u166d \U00011fff",
]


def build(path):
    vocabulary = json.loads(Path(path).read_text("utf-8"))["model"]["vocab"]
    tokenizer = Tokenizer(
        models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100, continuing_subword_prefix="##")
    )
    tokenizer.normalizer = normalizers.BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True
    )
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer, vocabulary


def draw_text(source, vocabulary):
    """A random text out of pieces that meet different rules of the tokenizer."""
    blocks = [
        (0x20, 0x7E), (0x00, 0xFF), (0x100, 0x24F), (0x250, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x6FF),
        (0x900, 0xDFF), (0xE00, 0x109F), (0x10A0, 0x11FF), (0x1200, 0x17FF), (0x1800, 0x1CFF), (0x1D00, 0x1FFF),
        (0x2000, 0x206F), (0x2070, 0x2BFF), (0x2C00, 0x2E7F), (0x3000, 0x33FF), (0x3400, 0x9FFF), (0xA000, 0xABFF),
        (0xAC00, 0xD7FF), (0xE000, 0xFAFF), (0xFB00, 0xFFFF), (0x10000, 0x11FFF), (0x12000, 0x1FFFF),
        (0x20000, 0x2FFFF), (0xE0000, 0xE01FF), (0x0, 0x10FFFF),
    ]
    text = ""
    for _ in range(source.randint(0, 12)):
        choice = source.random()
        if choice < 0.35:
            piece = source.choice(vocabulary)
            piece = piece[2:] if piece.startswith("##") and source.random() < 0.7 else piece
            piece = source.choice([piece, piece, piece.upper(), piece.title()])
        elif choice < 0.45:
            piece = source.choice([" ", "\t", "\n", "\u00a0", "\u2003", "\u200b", "-", "'", "##", "\u0301", "\u0345"])
        else:
            low, high = source.choice(blocks)
            piece = "".join(chr(source.randint(low, high)) for _ in range(source.choice([1, 1, 2, 3, 8, 40])))
        text += piece + source.choice(["", "", " "])
    return "".join(character for character in text if not 0xD800 <= ord(character) <= 0xDFFF)


def classify():
    """What the reference does to each code point: (class, first, last) in ascending order."""
    normalizer = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=True, strip_accents=None, lowercase=True)
    splitter = pre_tokenizers.BertPreTokenizer()
    ranges = []
    for code in range(0x110000):
        kind = "word"
        if 0xD800 <= code <= 0xDFFF:
            kind = "dropped"
        else:
            character = chr(code)
            normal = normalizer.normalize_str(f"a{character}b")[1:-1]
            if normal == "":
                kind = "dropped"
            elif normal == " ":
                kind = "space"
            elif len(normal) == 3 and normal[0] == normal[2] == " ":
                kind = "ideograph"
            elif len(splitter.pre_tokenize_str(f"a{character}b")) == 3:
                kind = "punctuation"
        if ranges and ranges[-1][0] == kind:
            ranges[-1][2] = code
        else:
            ranges.append([kind, code, code])
    return ranges


def write_tables():
    lines = [
        "/**",
        " * Which characters WordPiece drops, splits off or treats as white space, as hexadecimal ranges. Written by",
        " * scripts/wordpiece-golden.py from the reference tokenizer's behaviour (its categories are those of Unicode 8),",
        " * never by hand: Node's own tables are newer and would change vectors with every upgrade.",
        " */",
    ]
    ranges = classify()
    documents = {
        "space": "White space: ends a word.",
        "punctuation": "Each is a word of its own.",
        "ideograph": "CJK ideographs: each is a word of its own, and decomposed like a letter.",
        "dropped": "Nonspacing marks, controls, formats, private use and lone surrogates: as if they were not there.",
    }
    for kind, document in documents.items():
        words = [f"{low:x}" if low == high else f"{low:x}-{high:x}" for name, low, high in ranges if name == kind]
        rows = [""]
        for word in words:
            if len(rows[-1]) + len(word) > 108:
                rows.append("")
            rows[-1] += ("" if rows[-1] == "" else " ") + word
        lines += ["", f"/** {document} */", f"export const {kind.upper()} ="]
        lines += [f'  "{row} " +' for row in rows[:-1]] + [f'  "{rows[-1]}";']
    TABLES.write_text("\n".join(lines) + "\n", "utf-8")


def main():
    tokenizer, vocabulary = build(sys.argv[1])
    pieces = sorted(vocabulary)
    if "--fuzz" in sys.argv:
        source = random.Random(20)
        texts = [draw_text(source, pieces) for _ in range(int(sys.argv[sys.argv.index("--fuzz") + 1]))]
        json.dump([{"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids} for text in texts], sys.stdout)
        return
    source = random.Random(8)
    texts = WRITTEN + [draw_text(source, pieces) for _ in range(200)]
    rows = [
        json.dumps({"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}, separators=(",", ":"))
        for text in texts
    ]
    GOLDEN.write_text("[\n" + ",\n".join(rows) + "\n]\n", "utf-8")
    write_tables()
    print(f"{len(WRITTEN)} written and 200 drawn texts")


main()
