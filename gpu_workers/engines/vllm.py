"""Engine ``vllm``: a model in this worker's own AsyncLLM; the only module that imports vLLM.

What is set, and why (G§1): one request a draw with a seed of its own (a seed given to n samples makes siblings of neighbouring
prompts equal); log-probabilities of the distribution that was sampled from, of the drawn token alone, looked up by its id; prompts
as tokens, rendered here; prefixes shared under the weights' ordinal only, because a reload leaves the cache as it was; every token
with the weights that drew it. Output comes in steps of some tokens, so that a watchdog sees progress.
"""

from __future__ import annotations

import asyncio
import math
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import Field

from gpu_workers.engines.devices import claim_devices
from gpu_workers.engines.engine import EngineDeadError, Generation, Identity, Request, Sampling, unheard
from gpu_workers.engines.options import EngineOptions
from gpu_workers.engines.reaper import watch_this_process
from gpu_workers.engines.rendering import AddBos, ChatRenderer, RenderError
from gpu_workers.engines.vllm_outputs import generation_of, tempered
from gpu_workers.errors import RefusedRunError

ENGINE = "vllm"
#: Tokens of a draw that are reported together.
STEP = 32
#: vLLM raises temperatures between 0 and this one without a word; its log-probabilities would be of another distribution.
LOWEST_TEMPERATURE = 0.01


class VllmOptions(EngineOptions):
    """Options of engine ``vllm`` on this machine.

    Attributes:
        model: directory of a checkpoint, where the plan carries none.
        dtype: of the weights; ``auto`` is the checkpoint's own.
        max_model_len: longest prompt and response together; None: the model's own.
        kv_cache_gib: memory of the key-value cache; None: what vLLM takes by itself (on CPU almost all of the machine's memory).
        gpu_memory_utilization: share of a GPU's memory.
        tensor_parallel_size: GPUs of one engine.
        enforce_eager: no compilation: slower, ready sooner.
        chat_template: file with a template to use instead of the tokenizer's.
        add_bos: see :class:`gpu_workers.engines.rendering.ChatRenderer`.
    """

    in_flight: int = Field(default=256, ge=1)
    model: str = ""
    dtype: str = "auto"
    max_model_len: int | None = None
    kv_cache_gib: float | None = None
    gpu_memory_utilization: float = 0.9
    tensor_parallel_size: int = 1
    enforce_eager: bool = False
    chat_template: str = ""
    add_bos: AddBos = "auto"


class VllmEngine:
    """One model."""

    def __init__(self, options: VllmOptions, model: str, version: int = 0) -> None:
        """Load nothing yet.

        Args:
            options: of this machine.
            model: directory of the checkpoint, in Hugging Face's layout.
            version: ordinal of its weights.
        """
        self.identity = Identity(ENGINE, "", model, options.dtype, "processed")
        self.progress: Callable[[], None] = unheard
        self.vocab = 0
        self._options, self._model, self._version = options, model, version
        self._llm: Any = None
        self._renderer: ChatRenderer | None = None
        self._reaper: subprocess.Popen[bytes] | None = None
        self._calls = 0

    async def open(self) -> None:
        """Load the model; its processes end with this one.

        Raises:
            RefusedRunError: vLLM is not there, or cannot run this model here.
        """
        if not (Path(self._model) / "config.json").is_file():
            raise RefusedRunError(f"{self._model}: no checkpoint in Hugging Face's layout (no config.json).")
        for name, value in _ENVIRONMENT.items():
            os.environ.setdefault(name, value)
        claim_devices(self._options.tensor_parallel_size)
        self._reaper = watch_this_process()
        try:
            self._llm = self._start()
            await self._llm.update_weight_version(str(self._version))
        except ImportError as error:
            raise RefusedRunError(f"engine {ENGINE}: {error}. Build its environment: make setup-vllm.") from error
        except Exception as error:  # vLLM raises bare RuntimeError, ValueError, OSError ... from a dozen places while it loads
            await self.close()
            raise RefusedRunError(f"engine {ENGINE} cannot load {self._model}: {type(error).__name__}: {error}") from error

    def _start(self) -> Any:
        import vllm
        from vllm.engine.arg_utils import AsyncEngineArgs
        from vllm.platforms import current_platform
        from vllm.v1.engine.async_llm import AsyncLLM

        options = self._options
        cache = None if options.kv_cache_gib is None else int(options.kv_cache_gib * 2**30)
        arguments = AsyncEngineArgs(
            model=self._model, dtype=options.dtype, max_model_len=options.max_model_len, max_num_seqs=options.in_flight,
            logprobs_mode="processed_logprobs", kv_cache_memory_bytes=cache, gpu_memory_utilization=options.gpu_memory_utilization,
            tensor_parallel_size=options.tensor_parallel_size, enforce_eager=options.enforce_eager, enable_prefix_caching=True,
            disable_log_stats=True, max_logprobs=-1,  # all of the vocabulary, for score()
            # On CPU a seeded draw whose prompt is read in two steps ends the engine of 0.32 ("CPU Generator does not use offset").
            enable_chunked_prefill=False if current_platform.is_cpu() else None,
            generation_config="vllm",  # the checkpoint's defaults for sampling are not the plan's
        )  # fmt: skip
        llm = AsyncLLM.from_engine_args(arguments)
        template = Path(options.chat_template).read_text("utf-8") if options.chat_template else None
        self._renderer = ChatRenderer(llm.get_tokenizer(), template, options.add_bos)
        self.vocab = int(llm.model_config.get_vocab_size())
        dtype = str(llm.model_config.dtype).removeprefix("torch.")
        self.identity = Identity(ENGINE, vllm.__version__, self._model, dtype, "processed", self._renderer.template_sha256)
        return llm

    async def generate(self, request: Request) -> Generation:
        """As :class:`gpu_workers.engines.engine.Engine`."""
        begin = time.monotonic()
        text: str | None = None
        ids = request.prompt_token_ids
        if 0.0 < request.sampling.temperature < LOWEST_TEMPERATURE:
            return Generation.failed("prompt_invalid", f"temperature {request.sampling.temperature}: vLLM draws at no less than 0.01")
        if ids is None:
            try:
                rendered = self._held_renderer().render(request.messages, request.tools)
            except RenderError as error:
                return Generation.failed("prompt_invalid", str(error))
            text, ids = rendered.text, rendered.token_ids
        outputs = await self._run(request.key, ids, request.salt, lambda: _params(request.sampling, request.seed))
        if isinstance(outputs, Generation):
            return outputs
        return generation_of(outputs, ids, text, time.monotonic() - begin)

    async def score(self, prompt_token_ids: tuple[int, ...], token_ids: tuple[int, ...], temperature: float) -> Generation:
        """As :class:`gpu_workers.engines.engine.Engine`: one pass over prompt and tokens at temperature 1.

        At any other temperature the pass yields the figures of the whole vocabulary, from which those at that temperature follow:
        ln p_T(x) = ln p(x) / T - ln sum_v p(v)^(1/T). That is much to move: the tokens are scored some at a time.
        """
        if not token_ids:
            return Generation("", "stop", prompt_token_ids=prompt_token_ids, token_ids=(), logprobs=())
        if temperature <= 0.0:
            return Generation.failed("prompt_invalid", f"temperature {temperature}: a greedy draw has no log-probability")
        step = len(token_ids) if temperature == 1.0 else max(1, _MOVED // max(1, self.vocab))
        values: list[float] = []
        for first in range(0, len(token_ids), step):
            part = token_ids[first : first + step]
            made = await self._score(prompt_token_ids + token_ids[:first], part, temperature)
            if isinstance(made, Generation):
                return made
            values += made
        if not all(map(math.isfinite, values)):
            return Generation.failed("malformed", "a log-probability is NaN or infinite")
        return Generation("", "stop", prompt_token_ids=prompt_token_ids, token_ids=token_ids, logprobs=tuple(min(0.0, v) for v in values))

    async def _score(self, prompt: tuple[int, ...], tokens: tuple[int, ...], temperature: float) -> list[float] | Generation:
        def params() -> Any:
            from vllm import SamplingParams
            from vllm.sampling_params import RequestOutputKind

            wanted = 0 if temperature == 1.0 else -1
            return SamplingParams(
                max_tokens=1, temperature=0.0, prompt_logprobs=wanted, output_kind=RequestOutputKind.FINAL_ONLY, detokenize=False
            )

        outputs = await self._run("score", prompt + tokens, "score", params)
        if isinstance(outputs, Generation):
            return outputs
        rows = next(output.prompt_logprobs for output in outputs if output.prompt_logprobs is not None)[len(prompt) :]
        if temperature == 1.0:
            return [float(row[token].logprob) for row, token in zip(rows, tokens, strict=True)]
        return [
            tempered({i: entry.logprob for i, entry in row.items()}, token, temperature) for row, token in zip(rows, tokens, strict=True)
        ]

    def extend(self, token_ids: tuple[int, ...], messages: tuple[dict[str, Any], ...]) -> tuple[int, ...] | None:
        """As :class:`gpu_workers.engines.engine.Engine`."""
        return self._held_renderer().extend(token_ids, messages)

    async def load_policy(self, folder: str, version: int) -> None:
        """As :class:`gpu_workers.engines.engine.Engine`; a checkpoint that does not fit leaves an engine that is of no use.

        Raises:
            EngineDeadError: the weights could not be taken whole.
        """
        try:
            await self._llm.collective_rpc("reload_weights", kwargs={"weights_path": folder})
            await self._llm.reset_prefix_cache()
            await self._llm.update_weight_version(str(version))
        except Exception as error:  # whatever it was, some of the weights may be new and some old
            raise EngineDeadError(f"{folder}: {type(error).__name__}: {error}") from error
        self._version = version

    async def close(self) -> None:
        """End the engine's processes."""
        if self._llm is not None:
            llm, self._llm = self._llm, None
            await asyncio.to_thread(llm.shutdown)
            llm.shutdown = _nothing  # its finaliser calls that once more, in an interpreter that is being taken apart
        if self._reaper is not None:
            self._reaper.terminate()
            self._reaper.wait()
            self._reaper = None

    async def _run(self, key: str, ids: tuple[int, ...], salt: str, params: Callable[[], Any]) -> list[Any] | Generation:
        """All outputs of one request, or its failure."""
        from vllm.exceptions import VLLMClientError
        from vllm.inputs.engine import tokens_input
        from vllm.v1.engine.exceptions import EngineDeadError as CoreDeadError

        self._calls += 1
        outputs: list[Any] = []
        try:
            prompt = tokens_input(list(ids), cache_salt=f"{self._version}:{salt}")
            async for output in self._llm.generate(prompt, params(), f"{key}#{self._calls}"):
                outputs.append(output)
                self.progress()
        except CoreDeadError as error:
            raise EngineDeadError(str(error)) from error
        except (VLLMClientError, ValueError, TypeError) as error:  # also what a schema that no grammar can hold raises
            return Generation.failed("prompt_invalid", str(error))
        except MemoryError as error:
            return Generation.failed("oom", str(error))
        except Exception as error:  # noqa: BLE001  # vLLM wraps what went wrong inside a request in EngineGenerateError, with the cause behind it
            reason = f"{type(error.__cause__ or error).__name__}: {error.__cause__ or error}"
            if isinstance(error.__cause__, MemoryError) or "out of memory" in reason.lower():
                return Generation.failed("oom", reason)
            if isinstance(error.__cause__, (VLLMClientError, ValueError)):
                return Generation.failed("prompt_invalid", reason)
            return Generation.failed("engine_error", reason, retryable=True)
        return outputs

    def _held_renderer(self) -> ChatRenderer:
        if self._renderer is None:
            raise EngineDeadError(f"engine {ENGINE} is not open")
        return self._renderer


#: Before vLLM is imported: nothing is fetched or reported, and stdout stays the worker's own.
_ENVIRONMENT = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "WARNING",
    "VLLM_LOGGING_STREAM": "ext://sys.stderr",
}
#: Figures moved at once where a whole vocabulary is scored: some 100 MB of Python objects.
_MOVED = 1 << 20


def _nothing() -> None:
    """What a closed engine does when it is closed again."""


def _params(sampling: Sampling, seed: int) -> Any:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

    return SamplingParams(
        n=1, seed=seed, temperature=sampling.temperature, top_p=sampling.top_p, top_k=max(0, sampling.top_k), min_p=sampling.min_p,
        max_tokens=sampling.max_tokens, stop=list(sampling.stop), logprobs=0 if sampling.logprobs else None,
        structured_outputs=None if sampling.schema is None else StructuredOutputsParams(json=sampling.schema),
        output_kind=RequestOutputKind.DELTA, stream_interval=STEP,
    )  # fmt: skip
