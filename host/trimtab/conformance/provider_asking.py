"""Rules for how a provider asks: where, with which settings, and what it writes."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping, Sequence

from trimtab.conformance.driver_base import outcome_of, shown
from trimtab.conformance.provider_base import ProviderRules
from trimtab.conformance.provider_inputs import TOOLS, copied, is_as, numbers_in, strings_in
from trimtab.conformance.provider_rules import address_faults, header_faults, request_faults
from trimtab_sdk.provider import Provider, ProviderCall, ProviderRequest

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MISSPELT = "no_such_setting"


class AskingRules(ProviderRules):
    """What a host relies on when a provider asks."""

    def test_says_where_it_is_asked(self, provider: Provider) -> None:
        """Give `base_url` as an address alone, `key_variable` as the name of a variable, `credential` as a header.

        Leave the first two empty where there is no usual one, and always in a provider that is `offline`. A host
        sends requests nowhere else, and puts the key in by itself.
        """
        self.judge(_place_faults(provider))

    def test_its_schemas_are_closed(self, provider: Provider) -> None:
        """Write `settings_schema` and `options_schema` as JSON schemas with `"additionalProperties": False`.

        A misspelt setting that nobody refuses is a setting that nobody obeys. Give None where there are none.
        """
        self.judge(_schema_faults("settings_schema", provider.settings_schema, self.settings))
        self.judge(_schema_faults("options_schema", provider.options_schema, self.options))

    def test_writes_tools_in_order(self, provider: Provider) -> None:
        """Return a list from `write_tools` with one JSON value for each tool, in the order given, always the same.

        Each holds the tool's name, description and parameters. Tools stand at the front of what a server caches,
        so an order that changes makes every call dear.
        """
        self.judge(_tool_faults(provider, self.settings))

    def test_a_request_can_be_sent(self, provider: Provider, calls: list[tuple[str, ProviderCall]]) -> None:
        """Return a ProviderRequest: a path below the base URL, a body of JSON values, and no header of the host's.

        The host adds address, key and all that HTTP needs. A path that leads elsewhere is not followed.
        """
        header = provider.credential.header
        for name, call in calls:
            got = outcome_of(provider.request, call)
            raised = [f"request raised {shown(got.error)}"] if got.error is not None else []
            self.judge(f"{name}: {fault}" for fault in raised or request_faults(got.value, header))

    def test_a_request_is_the_same_each_time(
        self, provider: Provider, calls: list[tuple[str, ProviderCall]]
    ) -> None:
        """Write the body from the call alone, key by key in a fixed order; change nothing in the call.

        A call is tried again as it was, and servers cache what begins with the same bytes: no clock, no random
        number, no set, no counter.
        """
        for name, call in calls:
            self.judge(f"{name}: {fault}" for fault in _sameness_faults(provider, call))

    def test_a_request_holds_what_was_fitted(
        self, provider: Provider, calls: list[tuple[str, ProviderCall]]
    ) -> None:
        """Put the whole prompt into the body, with the model, the tools and the output limit of the call.

        What is left out was counted, and shown to people as what the model saw. Of a body that was read,
        `call.prompt.request` holds the system text of some wires; `call.prompt.messages` is all of others. Claim
        `no_output_limit = True` only for a server that refuses every request with such a limit.
        """
        for name, call in calls:
            self.judge(f"{name}: {fault}" for fault in _missing(provider, call, limited=not self.no_output_limit))


def _place_faults(provider: Provider) -> Iterator[str]:
    if provider.base_url:
        yield from address_faults(provider.base_url)
    if provider.key_variable and not _VARIABLE.fullmatch(provider.key_variable):
        yield f"key_variable is {provider.key_variable!r:.60}, which is no name of a variable"
    yield from header_faults(provider.credential.header, provider.credential.prefix)
    if provider.offline and (provider.base_url or provider.key_variable):
        yield "it is offline, and has a base_url or a key_variable all the same"


def _schema_faults(what: str, schema: Mapping[str, object] | None, used: Mapping[str, object]) -> Iterator[str]:
    from jsonschema import Draft202012Validator, SchemaError
    from referencing import Registry

    if schema is None:
        return
    try:
        json.dumps(schema, allow_nan=False)
        Draft202012Validator.check_schema(schema)
    except SchemaError as error:
        yield f"{what} is no JSON schema: {error.message}"
        return
    except (TypeError, ValueError) as error:
        yield f"{what} holds more than JSON values: {error}"
        return
    validator = Draft202012Validator(schema, registry=Registry())
    if validator.is_valid({**used, _MISSPELT: True}):
        yield f"{what} allows {_MISSPELT!r}"
    if validator.is_valid([]):
        yield f'{what} allows a list; its type must be "object"'
    if used:
        yield from (f"{what} refuses what the contract uses: {one.message}" for one in validator.iter_errors(used))


def _tool_faults(provider: Provider, settings: Mapping[str, object]) -> Iterator[str]:
    before = copy.deepcopy(TOOLS)
    got = outcome_of(provider.write_tools, TOOLS, settings)
    if got.error is not None:
        yield f"write_tools raised {shown(got.error)}"
        return
    written = got.value
    if not isinstance(written, list) or len(written) != len(TOOLS):
        yield f"write_tools gave {written!r:.80}, not a list with {len(TOOLS)} values"
        return
    yield from _content_faults(written)
    if before != TOOLS:
        yield "the tools it was given were changed"
    if as_text(provider.write_tools(TOOLS, settings)) != as_text(written):
        yield "a second call gave others"
    if outcome_of(provider.write_tools, [], settings).value != []:
        yield "no tools give something else than []"


def _content_faults(written: Sequence[object]) -> Iterator[str]:
    for tool, wire in zip(TOOLS, written, strict=True):
        if outcome_of(as_text, wire).error is not None:
            yield f"the tool {tool.name} is no JSON value"
            continue
        held = set(strings_in(wire))
        if tool.name not in held or tool.description not in held:
            yield f"the tool {tool.name} is not at its place, or without its name or description"
        for name in _names_of(tool.parameters):
            if f'"{name}"' not in as_text(wire):
                yield f"the tool {tool.name} is without its parameter {name}"


def _names_of(parameters: Mapping[str, object]) -> list[str]:
    properties = parameters.get("properties")
    return list(properties) if isinstance(properties, Mapping) else []


def _sameness_faults(provider: Provider, call: ProviderCall) -> Iterator[str]:
    before = copied(call)
    one = outcome_of(provider.request, call)
    if not is_as(call, before):
        yield "the call was changed"
        return
    two = outcome_of(provider.request, call)
    if one.error is not None or two.error is not None:
        yield f"request raised {shown(one.error or two.error or TypeError())}"
    elif _sent(one.value) != _sent(two.value):
        yield "a second request for the same call is another"


def _sent(request: object) -> object:
    if not isinstance(request, ProviderRequest):
        return None
    return request.path, outcome_of(as_text, request.body).value, dict(request.headers)


def _missing(provider: Provider, call: ProviderCall, *, limited: bool) -> Iterator[str]:
    request = provider.request(call)
    whole = "\n".join([request.path, *strings_in(request.body)])
    sent = call.prompt.messages if call.prompt.request is None else call.prompt.request
    for text in (call.model, *strings_in(sent), *strings_in(call.tools)):
        if text not in whole:
            yield f"{text!r:.60} is not in the request"
    if not limited or call.max_output_tokens is None:
        return
    if call.max_output_tokens not in numbers_in(request.body):
        yield f"the output limit of {call.max_output_tokens} tokens is not in the request"


def as_text(value: object) -> str:
    """Give a JSON value as text, keys in the order they stand in. Raises TypeError or ValueError for another."""
    return json.dumps(value, allow_nan=False, default=dict)
