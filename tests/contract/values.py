"""Values for requests, made from schemas: valid ones, and valid ones broken in one place."""
import json
import string

ALPHABET = string.printable[:94]      # of every code and id, which have spaces inside, too
FOREIGN = 'ßé漢\U0001f455'             # of skus and locations, which have them, too
WORDS = ('available', 'größe', '漢字', '\U0001f600', 'a\tb', '"quoted"', '\\', '\x7f')


class Raw(str):
    """Text that stands in a body as it is."""


class Twice(dict):
    """An object that has all its members twice."""


def dump(value):
    """JSON, of values that JSON libraries would not write."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        members = [f'{json.dumps(name)}:{dump(member)}' for name, member in value.items()]
        return '{' + ','.join(members + members if isinstance(value, Twice) else members) + '}'
    if isinstance(value, list):
        return '[' + ','.join(map(dump, value)) + ']'
    return json.dumps(value, ensure_ascii=False)


def replaced(value, path, new):
    """A copy with another value at path, a tuple of names and indexes."""
    if not path:
        return new
    copy = type(value)(value)
    copy[path[0]] = replaced(value[path[0]], path[1:], new)
    return copy


class Maker:
    """Makes values with a random generator. `pool(name)` gives a value that the service may know, or None."""

    def __init__(self, document, chance, pool):
        self.document, self.chance, self.pool = document, chance, pool

    def flat(self, schema):
        """A schema without references, its allOf folded in, one way of its oneOf taken."""
        schema = dict(self.document.resolve(schema))
        for part in schema.pop('allOf', []):
            part = self.flat(part)
            properties = {**part.get('properties', {}), **schema.get('properties', {})}
            schema = {**part, **schema, **({'properties': properties} if properties else {})}
        if 'oneOf' in schema:
            schema = {**schema, **self.flat(self.chance.choice(schema.pop('oneOf')))}
        return schema

    # ---- valid

    def valid(self, schema, name=''):
        schema = self.flat(schema)
        if 'const' in schema:
            return schema['const']
        if 'enum' in schema:
            return self.chance.choice(schema['enum'])
        known = self.pool(name) if self.chance.random() < .9 else None
        if known is not None and not self.document.errors(schema, known):
            return known
        kind = schema['type'] if isinstance(schema['type'], str) else self.chance.choice(schema['type'])
        return getattr(self, 'valid_' + kind)(schema, name)

    def valid_null(self, schema, name):
        return None

    def valid_boolean(self, schema, name):
        return self.chance.random() < .5

    def valid_integer(self, schema, name):
        low, high = schema.get('minimum', 0), schema.get('maximum', 1000)
        some = [low, high, low + 1, high - 1, self.chance.randint(low, high), min(high, max(low, 0) + 5)]
        return self.chance.choice([n for n in some if not self.document.errors(schema, n)])

    def valid_string(self, schema, name):
        low, high = schema.get('minLength', 0), schema.get('maxLength', 20)
        length = self.chance.choice((max(low, 1), high, self.chance.randint(max(low, 1), high)))
        if schema.get('format') in ('uri', 'date-time'):
            return {'uri': 'https://c.example/', 'date-time': '2026-11-22T08:00:00Z'}[schema['format']]
        if 'pattern' in schema:
            more = '' if self.document.errors(schema, FOREIGN) else FOREIGN
            text = ''.join(self.chance.choice(ALPHABET + '  ' + more) for _ in range(length))
            while len(text.encode()) > high:
                text = text[:-1]
            return 'A' if self.document.errors(schema, text) else text
        text = self.chance.choice(WORDS) * length
        while len(text) > high or len(text.encode()) > high:    # texts are limited in bytes
            text = text[:-1]
        return text

    def valid_array(self, schema, name):
        low = schema.get('minItems', 0)
        made = [self.valid(schema['items'], name) for _ in range(self.chance.choice((low, low, low + 1, low + 3)))]
        return [value for i, value in enumerate(made) if not schema.get('uniqueItems') or value not in made[:i]]

    def valid_object(self, schema, name):
        return {member: self.valid(part, member) for member, part in schema.get('properties', {}).items()
                if member in schema.get('required', []) or self.chance.random() < .5}

    # ---- broken

    def broken(self, schema, value):
        """(what, value): the value broken in one place, for each place and way. All must be refused."""
        for path, what, new in self.faults(schema, value, ()):
            yield f'{what} at {"/".join(map(str, path)) or "the top"}', replaced(value, path, new)

    def faults(self, schema, value, path):
        schema = self.fitting(schema, value)
        yield from ((path, f'{type(other).__name__} {other!r}', other) for other in self.other_types(schema, value))
        if isinstance(value, dict):
            yield from self.object_faults(schema, value, path)
        elif isinstance(value, list):
            yield from self.array_faults(schema, value, path)
        elif isinstance(value, bool):
            return
        elif isinstance(value, int):
            yield from ((path, f'number {n}', n) for n in self.bad_integers(schema, value))
        elif isinstance(value, str):
            yield from ((path, f'string {s[:20]!r}', s) for s in self.bad_strings(schema, value))

    def fitting(self, schema, value):
        """flat, with the way of a oneOf that this value takes."""
        schema = dict(self.document.resolve(schema))
        ways = [way for way in schema.get('oneOf', []) if not self.document.errors(way, value)]
        return self.flat({**schema, 'oneOf': ways[:1]} if ways else schema)

    @staticmethod
    def other_types(schema, value):
        samples = {'null': Raw('null'), 'boolean': True, 'integer': 1, 'number': Raw('1.5'), 'string': '1', 'array': [],
                   'object': {}}
        mine = schema.get('type') or ('string' if isinstance(value, str) else None)
        return [sample for kind, sample in samples.items() if kind != mine]

    def object_faults(self, schema, value, path):
        for name in value:
            if name in schema.get('required', []):
                yield path, f'no {name}', type(value)({k: v for k, v in value.items() if k != name})
        yield path, 'an unknown member', {**value, 'surprise': 1}
        yield path, 'a member in capitals', {**value, **{name.upper(): 1 for name in list(value)[:1] or ['x']}}
        if value:
            yield path, 'members named twice', Twice(value)
        for name, member in value.items():
            yield from self.faults(schema['properties'][name], member, (*path, name))

    def array_faults(self, schema, value, path):
        if schema.get('minItems'):
            yield path, 'no elements', []
        if 'maxItems' in schema and value:
            yield path, 'too many elements', [value[0]] * (schema['maxItems'] + 1)
        if schema.get('uniqueItems') and value:
            yield path, 'an element twice', [*value[:1], *value[:1]]
        for i, element in enumerate(value[:2]):
            yield from self.faults(schema['items'], element, (*path, i))

    @staticmethod
    def bad_integers(schema, value):
        bad = [schema[bound] + by for bound, by in (('minimum', -1), ('maximum', 1)) if bound in schema]
        if 'not' in schema:
            bad.append(schema['not']['const'])
        return bad + [Raw(text) for text in (
            f'{value}.0', f'{value}e0', f'0{value}', f'+{value}', f'0x{value}', '-', '1e400', 'NaN', 'Infinity',
            '9' * 400, '18446744073709551616', '9223372036854775808', '9007199254740993', '-9223372036854775809')]

    def bad_strings(self, schema, value):
        bad = []
        if schema.get('minLength'):
            bad.append('')
        if 'maxLength' in schema:
            bad.append('x' * (schema['maxLength'] + 1))
        if 'pattern' in schema:
            bad += [value[:-1] + c for c in ' \n\0\x7f\x85\xa0\u200b\u202e\ufeff'] + ['.', '..', ' ', ' ' + value[1:]]
            bad += [value[:-1] + c for c in FOREIGN if self.document.errors(schema, FOREIGN)]
            bad += ['settlement/1'] if self.document.errors(schema, 'settlement/1') else []
        if 'enum' in schema or 'const' in schema:
            bad += ['', value + 'x', value.upper(), value + ' ', value + '\0']
        return bad + [Raw('"\\ud800"'), Raw('"\\x"'), Raw('"\t"'), Raw(f"'{value}'"), Raw('"')]

    def broken_bytes(self, body):
        """(what, bytes): what is no JSON text, or none that any call takes."""
        text = body.encode()
        yield from (('cut', text[:-1]), ('followed by more', text + b'{}'), ('followed by a comma', text + b','),
                    ('not UTF-8', text[:1] + b'"\xff":1,' + text[1:]), ('a NUL behind', text + b'\0'),
                    ('a byte order mark', b'\xef\xbb\xbf' + text), ('UTF-16', body.encode('utf-16')),
                    ('a comment', b'/**/' + text), ('deep arrays', b'[' * 9 + b']' * 9), ('very deep', b'[' * 60000),
                    ('deep objects', b'{"a":' * 9 + b'1' + b'}' * 9), ('a single quote', b"{'a':1}"),
                    ('a trailing comma', text[:-1] + b',}'), ('random bytes', self.chance.randbytes(200)))
        yield 'too many values', b'[' + b'0,' * 400000 + b'0]'
