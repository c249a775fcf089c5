"""Checks shardgpt-prep against Hugging Face tokenizers and tiktoken: the same ids for every code point, for random
strings and for real text, and the same merges from training.

Usage: check_tokenizer.py PROGRAM [--strings N] [--seed N] (see run_tokenizer.sh)
  A tokenizer is trained here. SHARDGPT_GPT2_TOKENIZER may name a folder with another vocab.json and merges.txt to
  check with too, and SHARDGPT_TEXT a UTF-8 file to encode and to train on.
"""
import argparse
import array
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import unicodedata

from gpt2_tokenizers import END_OF_TEXT, open_hugging_face, open_tiktoken, read_merges, train_hugging_face
from tokenizers import pre_tokenizers

SPACES = [chr(c) for c in (*range(9, 14), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F,
                           0x205F, 0x3000)]
NOT_QUITE_SPACES = [chr(c) for c in (0x1C, 0x1D, 0x1E, 0x1F, 0x180E, 0x200B, 0x200D, 0x2060, 0xFEFF)]
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'LL", "\u2019s", "''", "'l", "'r", "' s", "'\u017f"]
SNIPPETS = ["the", " and", "Hello", " WORLD", "don't", " it's", "na\u00efve", "\u4f60\u597d", "\u65e5\u672c\u8a9e",
            "\u0440\u0443\u0441\u0441\u043a\u0438\u0439", "\u0639\u0631\u0628\u064a", "\U0001f468\u200d\U0001f469",
            "@-@", "<unk>", END_OF_TEXT, "<|endoftext", "e\u0301", "\u0915\u094d\u0937", "3.14", "1,000", "\r\n", "    "]
FIRST_REFUSED_WITH_BROKEN_BYTES = 0x10FF00  # in JSONL; docs/data-format.md
SUBSTITUTE = 0xF0000  # private use: class "other", as a broken byte is


def characters_of(first_letter_of_category):
    return [chr(c) for c in range(0x110000) if unicodedata.category(chr(c))[0] == first_letter_of_category
            and not 0xD800 <= c < 0xE000]


class RandomStrings:
    """Strings of a few pieces each: snippets, runs of white space, digits, marks, controls, and any code point of any
    plane."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numbers, self.marks = characters_of("N"), characters_of("M")

    def any_character(self):
        while True:
            plane = self.random.choice((0, 0, 0, 1, 1, 2, 3, self.random.randrange(17)))
            code_point = plane * 0x10000 + self.random.randrange(0x10000)
            if not 0xD800 <= code_point < 0xE000:
                return chr(code_point)

    def piece(self):
        pick, kind = self.random.choice, self.random.randrange(12)
        if kind < 3:
            return pick(SNIPPETS)
        if kind == 3:
            return pick(SPACES) * self.random.randint(1, 3) + pick(("", " "))
        if kind == 4:
            return "".join(pick((" ", "\n", "\t", pick(SPACES))) for _ in range(self.random.randint(1, 6)))
        if kind == 5:
            return pick(CONTRACTIONS)
        if kind == 6:
            return "".join(pick(self.numbers) for _ in range(self.random.randint(1, 3)))
        if kind == 7:
            return pick("aeion") + pick(self.marks) * self.random.randint(1, 2)
        if kind == 8:
            return chr(self.random.choice((*range(32), *range(0x7F, 0xA1)))) + pick(NOT_QUITE_SPACES)
        if kind == 9:
            return "".join(pick("abcdeghilmnorstuy ") for _ in range(self.random.randint(1, 12)))
        return "".join(self.any_character() for _ in range(self.random.randint(1, 4)))

    def string(self):
        return "".join(self.piece() for _ in range(self.random.randint(1, 12)))

    def broken(self):
        """Bytes that are no UTF-8, by bytes put in, taken out and exchanged."""
        text = "".join(c for c in self.string() if ord(c) < FIRST_REFUSED_WITH_BROKEN_BYTES)
        data = bytearray(text.encode())
        while is_utf8(data):
            place = self.random.randrange(len(data) + 1)
            byte = self.random.choice((0x80, 0xC0, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, 0xFF, self.random.randrange(128, 256)))
            data[place:place + self.random.randrange(2)] = bytes([byte])
        return bytes(data) if not substitutes(data) else self.broken()


def substitutes(data):
    return any(SUBSTITUTE <= ord(c) < SUBSTITUTE + 256 for c in data.decode(errors="ignore"))


def is_utf8(data):
    try:
        data.decode()
        return True
    except UnicodeDecodeError:
        return False


def every_code_point():
    """Each code point next to letters, digits, blanks and itself."""
    strings = []
    for begin in range(0, 0x110000, 64):
        block = [chr(c) for c in range(begin, begin + 64) if not 0xD800 <= c < 0xE000]
        if block:
            strings.append("".join(f"a{c}b 1{c}2 .{c}, {c}{c}  {c}\n" for c in block))
    return strings


def json_line(text):
    """A JSONL line; bytes go in as they are, so that broken UTF-8 stays broken."""
    if isinstance(text, str):
        return json.dumps({"text": text}).encode() + b"\n"
    line = bytearray(b'{"text":"')
    for byte in text:
        line += b"\\u%04x" % byte if byte < 0x20 or byte in b'"\\' else bytes([byte])
    return bytes(line) + b'"}\n'


def run(program, *arguments):
    done = subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"{arguments}: exit {done.returncode}\n{done.stdout.decode(errors='replace')}")


class Prep:
    """shardgpt-prep with one tokenizer."""

    def __init__(self, program, tokenizer):
        self.program, self.tokenizer = program, pathlib.Path(tokenizer)
        vocab = json.loads((self.tokenizer / "vocab.json").read_text(encoding="utf-8"))
        self.end_of_text = vocab[END_OF_TEXT]

    def encode_files(self, files, *options):
        with tempfile.TemporaryDirectory() as folder:
            run(self.program, "encode", "--vocab", self.tokenizer / "vocab.json", "--merges",
                self.tokenizer / "merges.txt", "--output", f"{folder}/set", *options, *files)
            manifest = json.loads(pathlib.Path(folder, "set", "dataset.json").read_text())
            ids = array.array("H" if manifest["token_type"] == "uint16" else "I")
            for shard in manifest["shards"]:
                ids.frombytes(pathlib.Path(folder, "set", shard["file"]).read_bytes()[1024:])
            return ids.tolist()

    def encode(self, texts):
        """The ids of each text, none of them empty."""
        with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
            file.writelines(map(json_line, texts))
            file.flush()
            documents, ids = [], []
            for token in self.encode_files([file.name]):
                if token == self.end_of_text:
                    documents.append(ids)
                    ids = []
                else:
                    ids.append(token)
        assert len(documents) == len(texts) and not ids, (len(documents), len(texts), len(ids))
        return documents


class Others:
    """The two other tokenizers, which have to agree with each other as well."""

    def __init__(self, tokenizer):
        self.hugging_face, self.tiktoken = open_hugging_face(tokenizer), open_tiktoken(tokenizer)
        self.splitter = pre_tokenizers.ByteLevel(add_prefix_space=False)

    def encode(self, texts):
        return ([encoding.ids for encoding in self.hugging_face.encode_batch(texts, add_special_tokens=False)],
                self.tiktoken.encode_ordinary_batch(texts, num_threads=1))

    def encode_broken(self, data):
        """The documented policy: a byte that belongs to no character is one symbol that is neither letter, number
        nor white space. Split by Hugging Face tokenizers with a private character in its place, merged by tiktoken."""
        marked = "".join(chr(SUBSTITUTE + ord(c) - 0xDC00) if 0xDC80 <= ord(c) <= 0xDCFF else c
                         for c in data.decode(errors="surrogateescape"))
        ids = []
        for _, (begin, end) in self.splitter.pre_tokenize_str(marked):
            piece = b"".join(bytes([ord(c) - SUBSTITUTE]) if SUBSTITUTE <= ord(c) < SUBSTITUTE + 256 else c.encode()
                             for c in marked[begin:end])
            ids += self.tiktoken._encode_single_piece(piece)
        return ids


class Report:
    def __init__(self):
        self.failures = 0
        self.start = time.monotonic()

    def compare(self, what, texts, wanted, found):
        wrong = [i for i in range(len(texts)) if wanted[i] != found[i]]
        self.line(what, f"{len(texts)} strings, {len(wrong)} differences", bool(wrong))
        for i in wrong[:3]:
            print(f"  {texts[i]!r}\n    wanted {wanted[i]}\n    found  {found[i]}")

    def line(self, what, result, failed):
        self.failures += failed
        print(f"{'FAILED' if failed else 'ok':6} {what}: {result} ({time.monotonic() - self.start:.0f} s)", flush=True)


def check_strings(report, name, prep, texts):
    ours = prep.encode(texts)
    hugging_face, tiktoken = Others(prep.tokenizer).encode(texts)
    report.compare(f"{name}, Hugging Face tokenizers", texts, hugging_face, ours)
    report.compare(f"{name}, tiktoken", texts, tiktoken, ours)


def check_broken(report, name, prep, texts):
    others = Others(prep.tokenizer)
    report.compare(f"{name}, documented policy", texts, [others.encode_broken(data) for data in texts],
                   prep.encode(texts))


def check_file(report, name, prep, path):
    others = Others(prep.tokenizer)
    text = path.read_bytes().decode()
    found = prep.encode_files([path], "--document", "none")
    for other, ids in zip(("Hugging Face tokenizers", "tiktoken"), others.encode([text])):
        report.line(f"{name}, {path.name}, {other}", f"{len(found)} ids", found != ids[0])


def check_training(report, program, what, texts, vocab_size, output):
    """Trains on one and on three threads into output/1 and output/3."""
    texts = [text for text in texts if END_OF_TEXT not in text]  # ends a document there, is text here
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as file:
        file.writelines(map(json_line, texts))
        file.flush()
        for threads in (1, 3):
            run(program, "train-bpe", "--vocab-size", vocab_size, "--threads", threads, "--output",
                output / str(threads), file.name)
    wanted, found = train_hugging_face(texts, vocab_size), read_merges(output / "1")
    report.line(f"merges learned from {what}", f"{len(found)}", wanted != found)
    same = all((output / "1" / name).read_bytes() == (output / "3" / name).read_bytes()
               for name in ("vocab.json", "merges.txt"))
    report.line("training on one and on three threads", "same files" if same else "other files", not same)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--strings", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    report = Report()
    source = RandomStrings(options.seed)
    strings = [source.string() for _ in range(options.strings)]
    broken = [source.broken() for _ in range(options.strings // 4)]
    documents = [path.read_text() for path in sorted(pathlib.Path(__file__).parents[2].rglob("docs/**/*.md"))]
    text = pathlib.Path(os.environ["SHARDGPT_TEXT"]) if os.environ.get("SHARDGPT_TEXT") else None
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        check_training(report, options.program, "documents and random strings",
                       documents + strings[:10_000], 3000, work / "trained")
        if text:
            check_training(report, options.program, text.name, [text.read_bytes().decode()], 32_000, work / "text")
        tokenizers = {"trained tokenizer": work / "trained" / "1"}
        if os.environ.get("SHARDGPT_GPT2_TOKENIZER"):
            tokenizers["SHARDGPT_GPT2_TOKENIZER"] = os.environ["SHARDGPT_GPT2_TOKENIZER"]
        for name, tokenizer in tokenizers.items():
            prep = Prep(options.program, tokenizer)
            check_strings(report, f"{name}, random", prep, strings)
            check_broken(report, f"{name}, broken UTF-8", prep, broken)
            if text:
                check_file(report, name, prep, text)
        # Where a text is cut depends on the classes of its characters, not on the tokenizer.
        check_strings(report, "trained tokenizer, every code point", Prep(options.program, tokenizers["trained tokenizer"]),
                      every_code_point())
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
