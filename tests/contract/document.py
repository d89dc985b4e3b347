"""openapi.yaml as a judge of answers: which are documented, and whether one is as documented."""
import json
import re

import jsonschema
import yaml

METHODS = ('get', 'put', 'post', 'delete', 'patch', 'options', 'head', 'trace')
# Headers that an answer has only where the document says so.
SPECIAL = ('Location', 'Cache-Control', 'Idempotent-Replayed', 'Age-Ms', 'Retry-After', 'Allow', 'WWW-Authenticate')
# Documented, and still not in every answer of the kind.
AT_TIMES = ('Idempotent-Replayed',)


class Operation:
    def __init__(self, path, method, item, raw):
        self.path, self.method, self.raw = path, method.upper(), raw
        self.name = raw['operationId']
        self.parameters = item.get('parameters', []) + raw.get('parameters', [])
        self.body = raw.get('requestBody')


class Document:
    def __init__(self, path):
        with open(path, encoding='utf-8') as file:
            self.root = yaml.safe_load(file)
        self.operations = []
        self.methods = {}                       # methods that each path takes, as Allow names them
        for path, item in self.root['paths'].items():
            here = [method for method in METHODS if method in item]
            self.methods[path] = {method.upper() for method in here} | ({'HEAD'} if 'get' in here else set())
            for method in here:
                operation = Operation(path, method, item, item[method])
                operation.parameters = [self.resolve(p) for p in operation.parameters]
                operation.body = self.resolve(operation.body)
                self.operations.append(operation)
        for path, methods in self.methods.items():      # an order may be called `batch`
            for other in self.root['paths']:
                if '{' not in path and re.fullmatch(re.sub(r'{\w+}', '[^/]+', other), path):
                    methods |= self.methods[other]
        self.validators = {}

    def resolve(self, node):
        while isinstance(node, dict) and '$ref' in node:
            target = self.root
            for step in node['$ref'].lstrip('#/').split('/'):
                target = target[step]
            node = target
        return node

    def errors(self, schema, value):
        """The fault of a value, or None."""
        key = json.dumps(schema, sort_keys=True)
        if key not in self.validators:
            self.validators[key] = jsonschema.Draft202012Validator(
                {'allOf': [schema], 'components': self.root['components']})
        error = jsonschema.exceptions.best_match(self.validators[key].iter_errors(value))
        return error and f'{error.json_path}: {error.message[:300]}'

    def members(self, schema):
        """The names that the document knows of an object of this schema, with their schemas."""
        schema = self.resolve(schema)
        known = {name: [part] for name, part in schema.get('properties', {}).items()}
        for way in ('allOf', 'oneOf', 'anyOf'):
            for part in schema.get(way, []):
                for name, parts in self.members(part).items():
                    known.setdefault(name, []).extend(parts)
        return known

    def unknown(self, schemas, value, at='$'):
        """A member of an answer that no schema mentions, or None."""
        schemas = [self.resolve(schema) for schema in schemas]
        if isinstance(value, dict):
            known = {}
            for schema in schemas:
                for name, parts in self.members(schema).items():
                    known.setdefault(name, []).extend(parts)
            for name, member in value.items():
                if known and name not in known:
                    return f'{at}.{name} is not in the document'
                found = known and self.unknown(known[name], member, f'{at}.{name}')
                if found:
                    return found
        if isinstance(value, list):
            items = [part['items'] for schema in schemas
                     for part in [schema, *map(self.resolve, schema.get('allOf', []))] if 'items' in part]
            for i, element in enumerate(value):
                found = items and self.unknown(items, element, f'{at}[{i}]')
                if found:
                    return found
        return None

    # ---- answers

    def judge(self, operation, answer):
        """The fault of an answer to this operation, or None."""
        documented = self.resolve(operation.raw['responses'].get(str(answer.status)))
        if not documented:
            return f'{answer.status} is not documented for {operation.name}'
        return self.judge_headers(documented, answer) or self.judge_body(documented, answer)

    def judge_headers(self, documented, answer):
        headers = documented.get('headers', {})
        for name, header in headers.items():
            value = answer.headers.get(name)
            if value is None:
                if name not in AT_TIMES and self.resolve(header).get('required', True):
                    return f'{answer.status} without {name}'
                continue
            schema = self.resolve(header)['schema']
            kind = schema.get('type')
            if kind == 'integer' and value.isdigit():
                value = int(value)
            elif kind == 'boolean':
                value = value == 'true'
            wrong = self.errors(schema, value)
            if wrong:
                return f'{name}: {value}: {wrong}'
        for name in SPECIAL:
            if name in answer.headers and name not in headers:
                return f'{answer.status} has {name}, which is not documented there'
        return None

    def judge_body(self, documented, answer):
        if answer.head:
            return 'HEAD with a body' if answer.body else None
        content = documented.get('content')
        if not content:
            return 'a body where none is documented' if answer.body else None
        kind = (answer.headers.get('Content-Type') or '').split(';')[0]
        if kind not in content:
            return f'Content-Type {kind} is not documented for {answer.status}'
        if not kind.endswith('json'):
            return None if answer.body else 'an empty body'
        try:
            value = answer.json()
        except ValueError as error:
            return f'not JSON: {error}'
        schema = content[kind]['schema']
        if kind == 'application/problem+json':
            if value.get('status') != answer.status or value.get('type') != f"/problems/{value.get('code')}":
                return 'status or type of the problem do not fit'
        return self.errors(schema, value) or self.unknown([schema], value)
