#!/usr/bin/env python3
"""Writes holdfast/models.py and holdfast/calls.py from the contract, api/openapi.yaml. Takes PyYAML (python3-yaml).

    ./generate.py            writes them
    ./generate.py --check    compares them with what it would write; exit status 1 if they differ
"""
import keyword
import pathlib
import re
import sys
import textwrap

import yaml

HERE = pathlib.Path(__file__).resolve().parent
CONTRACT = HERE.parents[1] / 'api' / 'openapi.yaml'
WIDTH = 118

# The names of the methods, which both clients have in common; those that are missing are the operationId's first word.
NAMES = {
    'postMovement': 'move', 'getMovement': 'movement', 'listSkus': 'skus', 'getSku': 'sku', 'putSku': 'set_sku',
    'postSkusForSale': 'set_for_sale', 'getCustomer': 'customer', 'listWaiting': 'waiting',
    'putThreshold': 'set_threshold', 'deleteThreshold': 'delete_threshold', 'listThresholds': 'thresholds',
    'listSkuHolds': 'holds', 'listSkuMovements': 'movements', 'listLocations': 'locations',
    'getLocation': 'location', 'putLocation': 'set_location', 'postAvailability': 'availability',
    'postStock': 'stock', 'postReservation': 'reserve', 'postReservationBatch': 'reserve_many',
    'getReservation': 'reservation', 'listReservations': 'reservations', 'findReservations': 'find',
    'changeReservation': 'change', 'listReservationEvents': 'history', 'holdReservation': 'hold_back',
    'unholdReservation': 'let_go', 'confirmReservations': 'confirm_many', 'releaseReservations': 'release_many',
    'settleReservations': 'settle_many', 'kickMany': 'kick_many', 'getBuried': 'buried', 'listEvents': 'events',
    'listTasks': 'tasks', 'getTask': 'task', 'returnTask': 'give_back', 'makeWebhook': 'make_webhook',
    'listWebhooks': 'webhooks', 'getWebhook': 'webhook', 'deleteWebhook': 'delete_webhook',
    'enableWebhook': 'enable_webhook', 'rotateWebhook': 'rotate_webhook', 'pingWebhook': 'ping_webhook',
    'getAttempts': 'attempts', 'listJobs': 'jobs', 'putJob': 'set_job', 'getKey': 'key', 'getStats': 'stats',
    'getActivity': 'activity',
}
# Not sent again after a lost answer. A claim has no id of the client's; a late copy of the others has another effect.
ONCE = {'claimTask', 'kickMany', 'rotateWebhook', 'pingWebhook', 'enableWebhook'}
PAGES_BY_HAND = {'listEvents'}          # its cursor is stored by the caller


class Types:
    """The types of the schemas, each once, as Python writes them."""

    def __init__(self, document):
        self.document = document
        self.written, self.order, self.replayed = {}, [], set()

    def at(self, ref):
        node = self.document
        for part in ref[2:].split('/'):
            node = node[part]
        return node

    def whole(self, node):
        """A node of the document, with the one that it stands for."""
        return self.whole(self.at(node['$ref'])) if '$ref' in node else node

    def shape(self, schema):
        """The members of an object, and which of them are there in any case; None if it is no object."""
        schema = self.whole(schema)
        members, required, found = {}, set(schema.get('required', [])), 'properties' in schema
        for part in schema.get('allOf', []):
            inner = self.shape(part)
            if inner:
                members.update(inner[0])
                required |= inner[1]
                found = True
        members.update(schema.get('properties', {}))
        return (members, required) if found else None

    def of(self, schema, hint):
        """The type of a schema. What has no name of its own is named by the hint."""
        if '$ref' in schema:
            name = schema['$ref'].rsplit('/', 1)[-1]
            self.name(name, schema)
            return name
        parts = [part for part in schema.get('allOf', []) if part.keys() - {'required', 'oneOf', 'description'} or
                 any(one.keys() - {'required'} for one in part.get('oneOf', []))]
        choices = [part for part in parts if 'oneOf' in part]
        if choices:
            rest = [part for part in parts if 'oneOf' not in part]
            one_of = [{'allOf': [*rest, one]} for one in choices[0]['oneOf']]
            return self.union(one_of, hint)
        if self.shape({**schema, 'allOf': parts}):
            self.object(hint, {**schema, 'allOf': parts})
            return hint
        if parts:
            return self.of(parts[0], hint)
        if 'const' in schema or 'enum' in schema:
            values = [schema['const']] if 'const' in schema else schema['enum']
            if values == ['true']:
                values = [True, 'true']
            return f'Literal[{", ".join(map(repr, values))}]'
        options = schema.get('oneOf') or schema.get('anyOf')
        if options:
            return self.union(options, hint)
        kinds = schema.get('type', 'object')
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return self.either([self.plain(kind, schema, hint) for kind in kinds])

    def plain(self, kind, schema, hint):
        if kind == 'array':
            return f'List[{self.of(schema["items"], one(hint))}]'
        if kind == 'object':
            inner = schema.get('additionalProperties')
            return f'Dict[str, {self.of(inner, hint + "Value") if isinstance(inner, dict) else "Any"}]'
        return {'string': 'str', 'integer': 'int', 'number': 'float', 'boolean': 'bool', 'null': 'None'}[kind]

    def union(self, options, hint):
        named = len([option for option in options if '$ref' not in option and self.shape(option)])
        numbered = enumerate(options, 1)
        return self.either([self.of(option, f'{hint}{i}' if named > 1 else hint) for i, option in numbered])

    @staticmethod
    def either(types):
        types = list(dict.fromkeys(types))
        optional = 'None' in types
        types = [kind for kind in types if kind != 'None']
        if not types:
            return 'None'
        text = types[0] if len(types) == 1 else f'Union[{", ".join(types)}]'
        return f'Optional[{text}]' if optional else text

    def name(self, name, schema):
        """Writes the type of a component."""
        if name in self.written:
            return
        self.written[name] = None               # a schema may name itself
        inner = self.whole(schema)
        kind = self.of(inner, name)
        if kind != name:
            text = f'{name} = {kind}' if len(f'{name} = {kind}') <= WIDTH else f'{name} = {folded(kind)}'
            self.written[name] = ('alias', text)
            self.order.append(name)

    def object(self, name, schema):
        assert self.written.get(name) is None, name
        self.written[name] = None
        members, required = self.shape(schema)
        types = {member: self.of(inner, name + camel(member)) for member, inner in members.items()}
        if name in self.replayed and 'replayed' not in types:
            types['replayed'] = 'bool'
        self.typed_dict(name, types, required, self.whole(schema).get('description', ''))

    def typed_dict(self, name, types, required, about=''):
        marked = {member: kind if member in required else f'NotRequired[{kind}]' for member, kind in types.items()}
        if any(keyword.iskeyword(member) or not member.isidentifier() for member in types):
            rows = ''.join(f"    '{member}': {kind!r},\n" for member, kind in marked.items())
            text = comment(about) + f"{name} = TypedDict('{name}', {{\n{rows}}})"
        else:
            rows = ''.join(f'    {row(member, kind)}\n' for member, kind in marked.items())
            text = f'class {name}(TypedDict):\n{docstring(about)}{rows or "    pass"}'
        self.written[name] = ('object', text)
        self.order.append(name)


def row(member, kind):
    text = f'{member}: {kind}'
    return text if len(text) <= WIDTH - 4 else f'{member}: {folded(kind)}'.replace('\n', '\n    ')


def folded(kind):
    """A long list of choices, one or more a line. A list within brackets may go over several lines."""
    head, inner = kind.split('[', 1)
    inner, tail = inner.rsplit(']', 1)
    lines = textwrap.wrap(inner, WIDTH - 8, break_long_words=False, break_on_hyphens=False)
    return f'{head}[\n    ' + '\n    '.join(lines) + f'\n]{tail}'


def sentences(about):
    """The first paragraph, without the line breaks of the contract."""
    return ' '.join(about.split('\n\n')[0].split()).replace('\\', '')


def docstring(about, indent='    '):
    text = sentences(about)
    if not text:
        return ''
    lines = textwrap.wrap(text, WIDTH - len(indent) - 6)
    body = f'\n{indent}'.join(lines)
    return f'{indent}"""{body}"""\n' + ('\n' if indent == '    ' else '')


def comment(about):
    return ''.join(f'# {line}\n' for line in textwrap.wrap(sentences(about), WIDTH - 2))


def camel(name):
    return ''.join(part[:1].upper() + part[1:] for part in name.split('_'))


def one(hint):
    """The name of an item of a list."""
    for ending, short in (('ies', 'y'), ('xes', 'x'), ('Items', 'Item'), ('s', '')):
        if hint.endswith(ending):
            return hint[:-len(ending)] + short
    return f'{hint}Item'


class Method:
    """An operation as a method."""

    def __init__(self, types, path, node, operation):
        self.types, self.path, self.verb, self.id = types, path, node, operation['operationId']
        self.name = NAMES.get(self.id) or re.match('[a-z]+', self.id)[0]
        self.summary = operation['summary'].rstrip('.')
        self.once = self.id in ONCE
        self.parts, query = [], {}
        for parameter in map(types.whole, operation['all_parameters']):
            if parameter['in'] == 'path':
                kind = types.of(parameter['schema'], camel(parameter['name']))
                self.parts.append((parameter['name'], kind))
            if parameter['in'] == 'query':
                query[parameter['name']] = parameter['schema']
        self.query = self.body = None
        if query:
            self.query = f'{camel(self.name)}Query'
            members = {member: types.of(schema, self.query + camel(member)) for member, schema in query.items()}
            types.typed_dict(self.query, members, set(), f'What {self.name} may be asked with.')
        content = types.whole(operation.get('requestBody', {})).get('content', {})
        schema = content.get('application/json', {}).get('schema')
        kind = schema and types.of(schema, f'{camel(self.name)}Request')
        if kind and kind != 'Dict[str, Any]':       # an object without any member is not sent
            self.body = kind
            self.needs_body = operation['requestBody'].get('required', False)
        self.answers(operation)

    def answers(self, operation):
        answers = operation['responses'].items()
        good = {status: self.types.whole(answer) for status, answer in answers if status[0] == '2'}
        bodies = [answer['content']['application/json']['schema'] for answer in good.values() if 'content' in answer]
        if any('Idempotent-Replayed' in answer.get('headers', {}) for answer in good.values()):
            for body in bodies:
                self.types.replayed.add(body['$ref'].rsplit('/', 1)[-1])
        self.lists = self.id not in PAGES_BY_HAND and len(bodies) == 1 and \
            {'items', 'next_cursor'} <= set((self.types.shape(bodies[0]) or ({}, ()))[0])
        self.bodies, self.empty = bodies, len(bodies) < len(good)

    def answer(self):
        """The type of what it returns; to be asked when the answers of all operations are known."""
        hint = camel(self.name) + ('Page' if self.lists else 'Answer')
        kinds = list(dict.fromkeys(self.types.of(body, hint) for body in self.bodies))
        if len(kinds) == 2:
            kinds = [self.both(hint, kinds)]
        kind = kinds[0] if kinds else 'None'
        if self.lists:
            item = self.types.shape(self.bodies[0])[0]['items']['items']
            return f'{kind}, {self.types.of(item, one(hint + "Items"))}' if '$ref' in item else \
                f'{kind}, {one(hint + "Items")}'
        return f'Optional[{kind}]' if kinds and self.empty else kind

    def both(self, hint, kinds):
        """Of two answers the one that has all members, or one in which those of either may be missing."""
        (first, needed), (second, needed_too) = map(self.types.shape, self.bodies)
        for kind, members in ((kinds[0], first), (kinds[1], second)):
            if members.keys() >= first.keys() | second.keys() and needed == needed_too:
                return kind
        name = f'{hint}'
        members = {**first, **second}
        self.types.typed_dict(name, {member: self.types.of(schema, name + camel(member))
                                     for member, schema in members.items()}, needed & needed_too)
        return name

    def text(self, kind, waits):
        """The method, for threads or for asyncio."""
        parameters = ['self'] + [f'{name}: {type_}' for name, type_ in self.parts]
        if self.body:
            parameters.append(f'body: {self.body}' if self.needs_body else f'body: Optional[{self.body}] = None')
        if self.query:
            parameters.append(f'query: Optional[{self.query}] = None')
        parameters += ['*', 'deadline_s: Optional[float] = None']
        template = self.path if not self.parts else re.sub('{[a-z_]+}', '{}', self.path)
        where = ', '.join([repr(template), *(name for name, _ in self.parts)])
        where = f'path({where})' if self.parts else where
        arguments = [repr(self.verb), where]
        arguments += ['query'] * bool(self.lists or self.query) if not self.body else ['None', 'body']
        arguments += ['once=True'] * self.once
        call = f"Call({', '.join(arguments)})"
        if self.lists:
            returns, what = f'{"Async" * waits}Listing[{kind}]', f'self._list(lambda query: {call}, query, deadline_s)'
        else:
            returns, what = kind, f'{"await " * waits}self._call({call}, deadline_s)'
        head = signature(f'{"async " * (waits and not self.lists)}def {self.name}', parameters, returns)
        statement = f'        {"" if returns == "None" else "return "}{what}\n'
        if len(statement) > WIDTH + 3:
            statement = statement.replace('(lambda query: ', '(\n            lambda query: ').replace(
                'self._call(', 'self._call(\n            ')
        return f'    {head}\n{docstring(self.about(), " " * 8)}{statement}'

    def about(self):
        once = ' Not sent again after a lost answer.' if self.once else ''
        return f'{self.summary}.{once} {self.verb} {self.path}'


def signature(head, parameters, returns):
    text = f'{head}({", ".join(parameters)}) -> {returns}:'
    if len(text) <= WIDTH - 4:
        return text
    indent = ' ' * (len(head) + 5)
    lines = textwrap.wrap(', '.join(parameters), WIDTH - len(indent), break_long_words=False, break_on_hyphens=False)
    return f'{head}(' + f'\n{indent}'.join(lines) + f'\n{indent}) -> {returns}:'


def operations(document):
    """Those of the API itself, and not of the console, health and metrics."""
    for path, item in document['paths'].items():
        for verb, operation in item.items():
            if verb != 'parameters' and path.startswith('/v1/'):
                operation['all_parameters'] = item.get('parameters', []) + operation.get('parameters', [])
                yield path, verb.upper(), operation


MADE = '"""{}\n\nMade by generate.py from api/openapi.yaml: change that, and run it again."""\n'
MODELS = MADE.format('The bodies of the contract, as types.') + '''from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Literal, Optional, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired       # known to every checker of types; nothing is installed for it

'''
CALLS = MADE.format('The calls of the contract, as methods.') + '''from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Optional, TypeVar

from .models import (
    {names},
)
from .rules import Call, path

if TYPE_CHECKING:
    from .aio import AsyncListing
    from .client import Listing

T = TypeVar('T')


class Calls:
    """The calls for threads. `deadline_s` is for one call; the client has one for all."""

    def _call(self, call: Call[T], deadline_s: Optional[float] = None) -> T:
        raise NotImplementedError

    def _list(self, call: Callable[[Any], Call[Any]], query: Any, deadline_s: Optional[float]) -> Listing[Any, Any]:
        raise NotImplementedError

{methods}

class AsyncCalls:
    """The calls for asyncio. `deadline_s` is for one call; the client has one for all."""

    async def _call(self, call: Call[T], deadline_s: Optional[float] = None) -> T:
        raise NotImplementedError

    def _list(self, call: Callable[[Any], Call[Any]], query: Any, deadline_s: Optional[float]
              ) -> AsyncListing[Any, Any]:
        raise NotImplementedError

{async_methods}'''


def written():
    """The two files."""
    document = yaml.safe_load(CONTRACT.read_text(encoding='utf-8'))
    types = Types(document)
    methods = [Method(types, *operation) for operation in operations(document)]
    kinds = [method.answer() for method in methods]
    types.name('Event', {'$ref': '#/components/schemas/Event'})
    types.name('Problem', {'$ref': '#/components/schemas/Problem'})
    objects = [types.written[name][1] for name in types.order if types.written[name][0] == 'object']
    aliases = [types.written[name][1] for name in types.order if types.written[name][0] == 'alias']
    named = set(types.order)
    simple = [text for text in sorted(aliases) if not named & set(re.findall(r'\w+', text.split(' = ', 1)[1]))]
    unions = [text for text in aliases if text not in simple]
    blocks = ['\n'.join(simple), *(text.rstrip('\n') for text in objects), '\n'.join(unions)]
    models = MODELS + '\n\n\n'.join(blocks) + '\n'
    threads = '\n'.join(method.text(kind, False) for method, kind in zip(methods, kinds))
    loops = '\n'.join(method.text(kind, True) for method, kind in zip(methods, kinds))
    names = ', '.join(sorted(set(re.findall(r'\b[A-Z]\w+', re.sub('""".*"""', '', threads))) & named))
    calls = CALLS.format(names='\n    '.join(textwrap.wrap(names, WIDTH - 4)), methods=threads, async_methods=loops)
    return {HERE / 'holdfast' / 'models.py': models, HERE / 'holdfast' / 'calls.py': calls}


def main():
    files = written()
    stale = [path for path, text in files.items() if not path.exists() or path.read_text(encoding='utf-8') != text]
    if '--check' not in sys.argv[1:]:
        for path in stale:
            path.write_text(files[path], encoding='utf-8')
    elif stale:
        names = ', '.join(path.name for path in stale)
        sys.exit(f'{names}: not what the contract says; run clients/python/generate.py')


if __name__ == '__main__':
    main()
