"""A judge behind a provider's API, called through litellm (METHOD 42, DESIGN “Judge boundary”).

litellm takes seconds to import, so that it is imported when a judge is opened. Of it only
`acompletion`, `validate_environment`, `get_llm_provider`, the price list and the closing of clients
are used: no retries, no routing, no cache, no dropping of parameters.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from helix.backends.faults import Refused, meaning
from helix.backends.settings import section_of
from helix.errors import ConfigError, PinError
from helix.model.request import Pin, Price, Reply, Request, Usage
from helix.redaction import redacted
from helix.registry import JudgeSettings

_LISTED = ("input_cost_per_token", "output_cost_per_token")
_MICRO = 1_000_000
# A server that needs no key gets this one, and never the key of somebody else's environment.
_NO_KEY = "no-key"
_NOT_EXTRA = frozenset({
    "additional_drop_params", "api_base", "api_key", "base_url", "cache", "caching", "callbacks",
    "client", "context_window_fallback_dict", "custom_llm_provider", "deployment_id",
    "drop_params", "fallbacks", "max_retries", "messages", "mock_response", "model", "model_list",
    "n", "num_retries", "response_format", "retry_policy", "stream", "timeout", "tools",
})  # fmt: skip
_OWN_KEY = frozenset({"max_tokens", "seed", "temperature"})
# How litellm names the variables that hold a provider's address, where not by its own name.
_ADDRESS = ("API_BASE", "API_URL", "BASE_URL", "ENDPOINT", "URL")
_ALSO_NAMED = {
    "bedrock": ("AWS_BEDROCK_RUNTIME",),
    "huggingface": ("HF",),
    "ollama_chat": ("OLLAMA",),
    "text-completion-openai": ("OPENAI",),
    "vertex_ai": ("VERTEX", "VERTEXAI"),
    "watsonx": ("WML", "WX"),
}
_INSTEAD = {
    "temperature": "{0}.allow_unpinned_temperature=true asks without one",
    "seed": "{0}.seed=null asks without one",
    "max_tokens": "{0}.max_tokens=null asks without one",
    "response_format": "{0}.structured=instruction asks for JSON in words",
}
_open = 0


class LiteLLM:
    """The backend that asks a provider; one attempt a call, but for the first without a schema.

    With `structured: auto` a provider that takes no JSON Schema is asked by instruction, at once
    and for the rest of the run.
    """

    def __init__(self, settings: JudgeSettings, section: str, key: str | None) -> None:
        self._settings, self._section, self._key = settings, section, key
        self._takes_schema = True

    async def __aenter__(self) -> LiteLLM:
        global _open
        _open += 1
        return self

    async def __aexit__(self, *exc: object) -> None:
        global _open
        _open -= 1
        if not _open:  # The clients are shared by all who ask in this process.
            litellm = imported()
            await litellm.close_litellm_async_clients()
            litellm.in_memory_llm_clients_cache.flush_cache()

    async def ask(self, request: Request) -> Reply:
        """Return the provider's answer.

        Raises Unavailable where there is none, and PinError where the provider refuses the model,
        the key or a parameter, which ends the run.
        """
        structured = request.pin.structured
        schema = request.reply_schema is not None and structured != "instruction"
        schema = schema and (self._takes_schema or structured == "schema")
        try:
            try:
                return await self._ask(request, schema)
            except Refused as refused:
                if refused.parameter != "response_format" or structured != "auto":
                    raise
                self._takes_schema = False
                return await self._ask(request, False)
        except Refused as refused:
            raise self._ends_the_run(request.pin, refused) from None

    async def _ask(self, request: Request, schema: bool) -> Reply:
        sent = parameters(request, schema)
        try:
            response = await imported().acompletion(
                model=request.pin.model,
                messages=[{"role": m.role, "content": m.content} for m in request.messages],
                api_base=request.pin.base_url,
                api_key=self._key,
                num_retries=0,
                max_retries=0,
                timeout=self._settings.deadline_s,
                **sent,
            )
        except Exception as error:
            means = meaning(error, sent, self._clean, time.time())
            if isinstance(means, PinError):
                raise PinError(f"{self._named(request.pin)}: {means}. {self._mend()}") from None
            raise means from None  # Without its cause, whose text may hold a key.
        return self._reply(response, request.pin, sent)

    def _reply(self, response: Any, pin: Pin, sent: Mapping[str, Any]) -> Reply:
        choice = response.choices[0] if response.choices else None
        message = getattr(choice, "message", None)
        content = getattr(message, "content", None)
        refusal = getattr(message, "refusal", None)
        reasoning = getattr(message, "reasoning_content", None)
        ends = getattr(choice, "finish_reason", None)
        model = _returned(response.model, pin.model)
        text = str(content or refusal or "")
        return Reply(
            text=self._clean(text),
            finish_reason="refusal" if refusal and not content else ends and self._clean(str(ends)),
            returned_model=model and self._clean(model),
            reasoning=self._clean(str(reasoning)) if reasoning else None,
            usage=_usage(response, pin, text),
            effective=_effective(sent),
            draw=_draw(response, self._clean),
        )

    def _ends_the_run(self, pin: Pin, refused: Refused) -> PinError:
        name = refused.parameter
        default = "remove {1} from {0}.extra"
        instead = _INSTEAD.get(name, default).format(self._section, name)
        return PinError(f"{self._named(pin)} refuses {name} ({refused.text}); {instead}")

    def _named(self, pin: Pin) -> str:
        at = f" at {pin.base_url}" if pin.base_url else ""
        return f"{self._section}.model={pin.model}{at}"

    def _mend(self) -> str:
        config, section = self._settings.config, self._section
        key = f"{config.api_key_env} holds" if config.api_key_env else "the environment holds"
        return (
            f"Check the key that {key}, and {section}.model, which begins with its provider "
            f"({section}.model=openai/NAME for any server that speaks OpenAI's protocol)"
        )

    def _clean(self, text: str) -> str:
        """Take the key out of a text, and every other key that the environment holds."""
        return redacted(text, self._settings.config.api_key_env)


def open_litellm(settings: JudgeSettings) -> LiteLLM:
    """Open a provider; a key that is not there is an error that names its variable."""
    section, config = section_of(settings), settings.config
    for name in sorted(config.extra):
        if name in _OWN_KEY:
            raise ConfigError(f"{section}.extra must not hold {name}: it is {section}.{name}")
        if name in _NOT_EXTRA:
            raise ConfigError(
                f"{section}.extra must hold parameters of the model (got {name}, which decides "
                "who is asked or how often)"
            )
    if not config.base_url:
        _refuse_redirection(section, str(config.model))
    return LiteLLM(settings, section, _key(section, settings))


def price(pin: Pin) -> Price | None:
    """Return what a token costs: as the pin says, else as the list of prices, else not known.

    A model at a `base_url` of one's own has no list price, whatever its name.
    """
    if pin.price is not None or pin.base_url:
        return pin.price
    prompt, completion = map(_listed(pin.model).get, _LISTED)
    if prompt is None or completion is None:
        return None
    return Price(prompt * _MICRO, completion * _MICRO)


def parameters(request: Request, schema: bool) -> dict[str, Any]:
    """Return the parameters that are sent besides the prompt, by the provider's names."""
    pin = request.pin
    sent = dict(pin.extra)
    named = {"temperature": pin.temperature, "seed": pin.seed, "max_tokens": pin.max_tokens}
    sent |= {name: value for name, value in named.items() if value is not None}
    if schema:
        shape = {"name": "helix_reply", "schema": request.reply_schema, "strict": False}
        sent["response_format"] = {"type": "json_schema", "json_schema": shape}
    return sent


def imported() -> Any:
    """Return litellm, imported at first use: told to fetch nothing and to read no .env file."""
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    import litellm

    litellm.suppress_debug_info = True  # It would print on standard output.
    # What it logs is its own stack and what a provider said, with whatever that holds.
    logging.getLogger("LiteLLM").disabled = True
    litellm.drop_params = litellm.modify_params = False
    return litellm


def _refuse_redirection(section: str, model: str) -> None:
    """Refuse an address from the environment: the pin says who is asked (METHOD 42)."""
    try:
        provider = imported().get_llm_provider(model)[1]
    except Exception:  # Of a model that it does not know; asking it says so.
        return
    names = (provider.replace("-", "_").upper(), *_ALSO_NAMED.get(provider, ()))
    for variable in (f"{name}_{end}" for name in names for end in _ADDRESS):
        if os.environ.get(variable):
            raise ConfigError(
                f"{variable} is set and would decide who answers as {model}, which the pin must "
                f'say: add {section}.base_url="${variable}" (with {section}.api_key_env=NAME if it '
                f"needs a key), or unset {variable}"
            )


def _key(section: str, settings: JudgeSettings) -> str | None:
    config = settings.config
    if config.api_key_env:
        key = os.environ.get(config.api_key_env)
        if not key:
            raise ConfigError(
                f"{section}.api_key_env names {config.api_key_env}, which is not set: "
                f"export {config.api_key_env}=KEY"
            )
        return key
    if config.base_url:
        return _NO_KEY
    missing = missing_keys(str(config.model))
    if missing:
        raise ConfigError(
            f"{section}.model={config.model} needs a key, and {' or '.join(missing)} is not set: "
            f"export {missing[0]}=KEY, or name another variable by {section}.api_key_env"
        )
    return None


def missing_keys(model: str) -> list[str]:
    """Return the variables one of which must hold the model's key; none where one does."""
    needed = imported().validate_environment(model)
    if needed["keys_in_environment"]:
        return []
    return [name for name in needed["missing_keys"] if name.endswith("_API_KEY")]


def _draw(response: Any, clean: Callable[[str], str]) -> str | None:
    """Return what the provider calls an answer; with its time, since some servers count to 999."""
    name, at = getattr(response, "id", None), getattr(response, "created", None)
    return clean(f"{name} {at}") if name and at else None


def _returned(model: Any, pinned: str) -> str | None:
    """Return the model that the answer names, as the pin names it where only the prefix differs."""
    if not isinstance(model, str) or not model:
        return None
    return pinned if model == pinned.partition("/")[2] else model


def _effective(sent: Mapping[str, Any]) -> dict[str, Any]:
    schema = "response_format" in sent
    extra = {k: v for k, v in sent.items() if k not in _OWN_KEY and k != "response_format"}
    found: dict[str, Any] = {
        "temperature": sent.get("temperature"),
        "structuredOutput": "json_schema" if schema else "instruction",
    }
    named = (("seed", sent.get("seed")), ("maxTokens", sent.get("max_tokens")), ("extra", extra))
    return found | {name: value for name, value in named if value not in (None, {})}


def _usage(response: Any, pin: Pin, text: str) -> Usage:
    """Return the usage; litellm fills what is missing with zeros, and no text has no token."""
    given = getattr(response, "usage", None)
    prompt = getattr(given, "prompt_tokens", None) or None
    completion = getattr(given, "completion_tokens", None) or (None if text else 0)
    if prompt is None or completion is None:
        return Usage(prompt, completion or None)
    return Usage(prompt, completion, _cost(response, pin, prompt, completion))


def _cost(response: Any, pin: Pin, prompt: int, completion: int) -> int | None:
    if pin.base_url or pin.price is not None:
        known = price(pin)
        if known is None:
            return None
        return round(known.prompt * prompt + known.completion * completion)
    cost = response._hidden_params.get("response_cost")
    return round(cost * _MICRO) if isinstance(cost, int | float) else None


def _listed(model: str) -> dict[str, Any]:
    """Return litellm's entry for a model, which may leave out the prefix of its provider."""
    entries: dict[str, dict[str, Any]] = imported().model_cost
    provider, _, name = model.partition("/")
    if model in entries:
        return entries[model]
    found = entries.get(name, {})
    return found if found.get("litellm_provider") == provider else {}
