"""Hugging Face tokenizers and tiktoken with the vocab.json and merges.txt of a folder, offline."""
import json
import pathlib

import tiktoken
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

END_OF_TEXT = "<|endoftext|>"
# tiktoken's own form of GPT-2's rule, as in tiktoken_ext/openai_public.py.
SPLIT_PATTERN = (r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s""")


def byte_of_character():
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + i): byte for i, byte in enumerate(others)}


def open_hugging_face(folder):
    folder = pathlib.Path(folder)
    tokenizer = Tokenizer(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return tokenizer


def open_tiktoken(folder):
    vocab = json.loads((pathlib.Path(folder) / "vocab.json").read_text(encoding="utf-8"))
    end_of_text = vocab.pop(END_OF_TEXT)
    alphabet = byte_of_character()
    ranks = {bytes(alphabet[c] for c in token): rank for token, rank in vocab.items()}
    return tiktoken.Encoding(
        "gpt2_form", pat_str=SPLIT_PATTERN, mergeable_ranks=ranks, special_tokens={END_OF_TEXT: end_of_text})


def train_hugging_face(texts, vocab_size):
    """The merges that the trainer of Hugging Face tokenizers finds in whole texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, min_frequency=2, show_progress=False,
                                  special_tokens=[END_OF_TEXT],
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(texts, trainer)
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def read_merges(folder):
    text = (pathlib.Path(folder) / "merges.txt").read_bytes().decode()
    return [tuple(line.split(" ")) for line in text.split("\n")[1:-1]]
