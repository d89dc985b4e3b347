#!/usr/bin/env python3
"""Holds the files of engine, api, jobs, commands, schema and main.c against the plan of the rooms: rooms.py [BUILD]

A file is NAME.c with NAME.h. It has an arrow to another one where it includes the other's header or, by the symbols of
the objects in BUILD/obj (build/obj), calls a function or reads a variable that stands there.

  circle    no way along the arrows leads back to where it began, neither between files nor between rooms (folders)
  arrow     arrows go down only: main, commands, api, jobs, engine, engine/catalogue, engine/db, engine/base.
            engine/server stands on engine/db, and is for commands and commands/backup alone;
            engine/lane stands on engine/write, that on engine/promise, and that on engine/log; engine/read knows none of them, and none of
            them knows it; jobs/levels, jobs/task, jobs/waiting and jobs/webhooks do not know each other; api/order and
            api/stock stand on api/calls, and do not know each other; commands/demo, commands/import and commands/terminal are for
            commands alone; api/http knows outcomes and the base, schema engine/db and engine/base, and its invariants
            pieces of engine's statements
  caller    another file of the program uses what NAME.h declares. Or a test does, and NAME.c itself; where only tests
            do, the comment in NAME.h says `for tests`
  door      NAME.c has a NAME.h and includes it before all else, and all that NAME.h declares stands in NAME.c. A
            header whose first words say `private to ROOM and ROOM` or `for NAME.c alone` is included by no other file
  name      no two .c files have the same name, in whatever rooms they stand

A list (.def) and statements (.sql) are files, too: a file that includes a list, or names a statement or a piece of
statements, has an arrow to it.

Three folders hold files above and below the rooms inside of them: engine/engine.c opens lanes and readers, which stand
on op, loop, rows and queue; api/route.c names the handlers of api/calls, api/order and api/stock, which stand on request;
jobs/jobs.c starts the modules that serve levels and webhooks, which stand on stop. There the rule is by file: no circle, and it counts as
one room with the rooms inside of it. Among these rooms the rule is the same as among all others. The commands stand above
all others: one of them is the service.
"""
import collections
import pathlib
import re
import subprocess
import sys

ROOMS = ('api/calls', 'api/http', 'api/order', 'api/stock', 'api', 'engine/base', 'engine/catalogue', 'engine/db', 'engine/lane', 'engine/log', 'engine/promise',
         'engine/read', 'engine/server', 'engine/write', 'engine', 'commands/import', 'commands/terminal', 'commands/backup', 'commands/demo', 'commands', 'jobs/levels', 'jobs/task',
         'jobs/waiting', 'jobs/webhooks', 'jobs', 'schema')
ENGINE = {'engine', 'engine/catalogue', 'engine/lane', 'engine/log', 'engine/promise', 'engine/read', 'engine/write', 'engine/db', 'engine/base'}
JOBS = {'jobs', 'jobs/levels', 'jobs/task', 'jobs/waiting', 'jobs/webhooks'}
BELOW = {
    'main': {'commands', 'engine', 'engine/catalogue', 'engine/base'},
    'commands': {'commands/backup', 'commands/demo', 'commands/import', 'commands/terminal', 'api', 'api/calls', 'api/http', 'api/order', 'api/stock', *JOBS, 'schema',
                 'engine/server', *ENGINE},
    'commands/backup': {'engine/server', 'engine/base'},
    'commands/demo': {'engine/base'},
    'commands/import': {'commands/terminal', 'api/order', 'api/stock', 'jobs/waiting', 'engine', 'engine/catalogue', 'engine/base'},
    'commands/terminal': {'engine', 'engine/catalogue', 'engine/read', 'engine/db', 'engine/base'},
    'api': {'api/calls', 'api/http', 'api/order', 'api/stock', *JOBS, *ENGINE},
    'api/calls': {'api', 'api/http', *JOBS, *ENGINE},
    'api/order': {'api', 'api/calls', 'api/http', *JOBS, *ENGINE},
    'api/stock': {'api', 'api/calls', 'api/http', *JOBS, *ENGINE},
    'api/http': {'engine', 'engine/catalogue', 'engine/base'},
    'jobs': {'jobs/levels', 'jobs/task', 'jobs/webhooks', *ENGINE},
    'jobs/levels': {'jobs', *ENGINE},
    'jobs/task': {*ENGINE},
    'jobs/waiting': {'jobs', *ENGINE},
    'jobs/webhooks': {'jobs', *ENGINE},
    'schema': {'engine/db', 'engine/base'},
    'engine': {'engine/catalogue', 'engine/lane', 'engine/log', 'engine/promise', 'engine/read', 'engine/write', 'engine/db', 'engine/base'},
    'engine/lane': {'engine', 'engine/catalogue', 'engine/log', 'engine/promise', 'engine/write', 'engine/db', 'engine/base'},
    'engine/log': {'engine', 'engine/catalogue', 'engine/db', 'engine/base'},
    'engine/read': {'engine', 'engine/catalogue', 'engine/db', 'engine/base'},
    'engine/promise': {'engine', 'engine/catalogue', 'engine/log', 'engine/db', 'engine/base'},
    'engine/write': {'engine', 'engine/catalogue', 'engine/log', 'engine/promise', 'engine/db', 'engine/base'},
    'engine/catalogue': {'engine/db', 'engine/base'},
    'engine/db': {'engine/base'},
    'engine/server': {'engine/db', 'engine/base'},
    'engine/base': set(),
}
ONE_ROOM = {'engine/lane': 'engine', 'engine/log': 'engine', 'engine/promise': 'engine',
            'engine/read': 'engine', 'engine/write': 'engine',
            'api/calls': 'api', 'api/order': 'api', 'api/stock': 'api', 'jobs/levels': 'jobs', 'jobs/task': 'jobs',
             'jobs/waiting': 'jobs', 'jobs/webhooks': 'jobs'}
NAMES_SHOWN = 6


def room_of(file):
    return next((room for room in ROOMS if file.startswith(room + '/')), 'main')


def file_of(path):
    """The name of a node of the drawing: NAME.c with NAME.h is NAME, a list or statements have their own."""
    return re.sub(r'\.[ch]$', '', path)


def code_of(text):
    """The text without comments, and without what stands in quotes except for the names of included files."""
    text = re.sub(r'/\*.*?\*/|//[^\n]*', ' ', text, flags=re.S)
    return re.sub(r'^(?!\s*#\s*include)(.*)$', lambda m: re.sub(r'"(\\.|[^"\\])*"', '""', m[1]), text, flags=re.M)


def statements_of(text):
    """The statements of a .sql file by the names that C has for them, and its pieces as they stand in others."""
    return {name.upper() if kind == 'name' else '{' + name + '}'
            for kind, name in re.findall(r'^-- (name|piece): (\w+)', text, flags=re.M)}


def includes_of(text):
    return re.findall(r'^\s*#\s*include\s+[<"]([^>"]+)[>"]', code_of(text), flags=re.M)


def declared_in(header):
    """Functions and variables that a header declares for others."""
    text = re.sub(r'^\s*#.*(\\\n.*)*', '', code_of(header), flags=re.M)
    while True:    # no bodies, neither of structs nor of inline functions
        shorter = re.sub(r'\{[^{}]*\}', ' ', text)
        if shorter == text:
            break
        text = shorter
    names = set(re.findall(r'^extern\b[^;()]*?(\w+)\s*(?:\[[^;]*)?;', text, flags=re.M))
    for statement in text.split(';')[:-1]:
        found = re.match(r'(?!.*\b(?:static|typedef)\b)[\w\s*]*?\b(\w+)\s*\(', statement.strip(), flags=re.S)
        if found and not found[1].isupper() and found[1] != '_Static_assert':
            names.add(found[1])
    return names


def arrows_of(sources, objects):
    """{file: {other: {why ..}}} from texts by path and (defined, used) symbols by file."""
    arrows = collections.defaultdict(lambda: collections.defaultdict(set))
    owner = {name: file for file, (defined, _) in objects.items() for name in defined}
    asked = {name: path for path, text in sources.items() if path.endswith('.sql') for name in statements_of(text)}
    for path, text in sources.items():
        file = file_of(path)
        for name in includes_of(text):
            if name in sources and file_of(name) != file:
                arrows[file][file_of(name)].add(f'#include "{name}"')
        for name in set(re.findall(r'\{\w+\}' if path.endswith('.sql') else r'\b[A-Z]\w+\b', code_of(text))):
            if name in asked and asked[name] != file:
                arrows[file][asked[name]].add(name)
    for file, (_, used) in objects.items():
        for name in used:
            if name in owner and owner[name] != file:
                arrows[file][owner[name]].add(name)
    return arrows


def circles_of(arrows):
    """The largest groups of nodes that all reach each other (Tarjan)."""
    order, low, stack, circles = {}, {}, [], []

    def visit(node):
        order[node] = low[node] = len(order)
        stack.append(node)
        for other in arrows.get(node, ()):
            if other not in order:
                visit(other)
            if other in stack:
                low[node] = min(low[node], low[other])
        if low[node] == order[node]:
            at = stack.index(node)
            if len(stack) - at > 1:
                circles.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(arrows):
        if node not in order:
            visit(node)
    return circles


def ties(arrows, among):
    lines = []
    for file in among:
        for other, why in sorted(arrows.get(file, {}).items()):
            if other in among:
                more = f' and {len(why) - NAMES_SHOWN} more' if len(why) > NAMES_SHOWN else ''
                lines.append(f'    {file} -> {other}: ' + ', '.join(sorted(why)[:NAMES_SHOWN]) + more)
    return lines


def circles(arrows):
    wrong = []
    for circle in circles_of(arrows):
        wrong.append('\n'.join([f'circle of {len(circle)} files: ' + ', '.join(circle), *ties(arrows, circle)]))
    for between in (arrows_between(arrows, lambda room: ONE_ROOM.get(room, room)),
                    arrows_between(arrows, lambda room: None if room in ONE_ROOM.values() else room)):
        for circle in circles_of(between):
            wrong.append('\n'.join([f'circle of {len(circle)} rooms: ' + ', '.join(circle), *ties(between, circle)]))
    return wrong


def arrows_between(arrows, counts_as):
    """Arrows from room to room; counts_as(room) is the room that it counts as, or None: it is left out."""
    between = collections.defaultdict(lambda: collections.defaultdict(set))
    for file, others in arrows.items():
        for other in others:
            one, two = (counts_as(room_of(f)) for f in (file, other))
            if one and two and one != two:
                between[one][two].add(f'{file} -> {other}')
    return between


def wrong_arrows(arrows):
    wrong = []
    for file, others in sorted(arrows.items()):
        for other, why in sorted(others.items()):
            one, two = room_of(file), room_of(other)
            pieces = file.startswith('schema/') and (file[-4:], other[-4:]) == ('.sql', '.sql')
            if one != two and two not in BELOW[one] and not pieces:
                names = ', '.join(sorted(why)[:NAMES_SHOWN])
                wrong.append(f'arrow that {one} must not have: {file} -> {other}: {names}')
    return wrong


def doors(sources, objects):
    wrong = []
    for path, text in sorted(sources.items()):
        file, kind = path.rsplit('.', 1)
        if kind == 'c' and file != 'main':
            first = next(iter(includes_of(text)), 'nothing')
            if file + '.h' not in sources:
                wrong.append(f'door: {path} has no {file}.h')
            elif first != file + '.h':
                wrong.append(f'door: {path} includes {first} first, not {file}.h')
        if kind == 'h':
            elsewhere = collections.defaultdict(set)
            for name in declared_in(text):
                for other, (defined, _) in objects.items():
                    if name in defined and other != file:
                        elsewhere[other].add(name)
            nowhere = declared_in(text) - set().union(*(defined for defined, _ in objects.values()))
            if nowhere:
                wrong.append(f'door: {path} declares what stands nowhere: ' + ', '.join(sorted(nowhere)))
            for other, names in sorted(elsewhere.items()):
                wrong.append(f'door: {path} declares what stands in {other}.c: ' + ', '.join(sorted(names)))
    return wrong


def callers(sources, objects, tested):
    """`tested`: the words of all tests."""
    wrong = []
    for file, (defined, _) in sorted(objects.items()):
        code, header = code_of(sources[file + '.c']), sources.get(file + '.h', '')
        elsewhere = set().union(*(used for other, (_, used) in objects.items() if other != file))
        for name in sorted(defined - elsewhere - {'main'}):
            own = len(re.findall(rf'\b{name}\b', code)) > 1
            said = re.search(rf'for tests[^;]*?\*/[^;]*?\b{name}\b|\b{name}\b[^;]*;[^\n]*for tests', header)
            if not (name in tested and (own or said)):
                wrong.append(f'caller: {file}.c has {name}, which ' + ('no other file uses' if own else
                             'only tests use: say `for tests`' if name in tested else 'nobody uses'))
    return wrong


def private_headers(sources):
    wrong = []
    for header, text in sorted(sources.items()):
        opening = re.sub(r'\n \*', '', text.split('*/')[0])
        said = re.search(r'private to ([\w/]+(?: and [\w/]+)*)|for (\w+\.c) alone', opening)
        if not header.endswith('.h') or not said:
            continue
        files = {header[:-1] + 'c', f'{pathlib.Path(header).parent}/{said[2]}'}
        for path, other in sorted(sources.items()):
            may = path in files or (said[1] and room_of(path) in said[1].split(' and '))
            if header in includes_of(other) and not may:
                wrong.append(f'door: {path} includes {header}, which is private')
    return wrong


def equal_names(sources):
    paths = collections.defaultdict(list)
    for path in sorted(sources):
        if path.endswith('.c'):
            paths[pathlib.Path(path).name].append(path)
    return [f'name: {" and ".join(same)} have the same name' for same in paths.values() if len(same) > 1]


def judge(sources, objects, tested):
    arrows = arrows_of(sources, objects)
    return (circles(arrows) + wrong_arrows(arrows) + doors(sources, objects) + callers(sources, objects, tested) +
            private_headers(sources) + equal_names(sources))


def symbols_of(paths):
    """Of each object the symbols that it defines for others, and those that it wants of them. One nm reads all."""
    said = subprocess.run(['nm', '--print-file-name', '--extern-only', '--format=posix', *paths], check=True,
                          capture_output=True, text=True)
    symbols = {path: (set(), set()) for path in paths}
    for line in said.stdout.splitlines():
        path, symbol = line.split(': ')
        name, kind = symbol.split()[:2]
        symbols[path][kind in 'Uwv'].add(name)
    return symbols


def read_tree(build):
    listed = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard', 'engine', 'api', 'jobs',
                             'commands', 'schema', 'main.c'], check=True, capture_output=True, text=True).stdout.split()
    paths = [path for path in listed if path.endswith(('.c', '.h', '.def', '.sql')) and pathlib.Path(path).exists()]
    sources = {path: pathlib.Path(path).read_text() for path in paths}
    compiled = {path[:-2]: str(build / 'obj' / (path[:-2] + '.o')) for path in paths if path.endswith('.c')}
    symbols = symbols_of(compiled.values())
    objects = {name: symbols[path] for name, path in compiled.items()}
    tests = subprocess.run(['git', 'ls-files', '--cached', '--others', '--exclude-standard', 'tests/*.c', 'tests/*.h'],
                           check=True, capture_output=True, text=True).stdout.split()
    tested = {word for path in tests if pathlib.Path(path).exists()
              for word in re.findall(r'\w+', code_of(pathlib.Path(path).read_text()))}
    return sources, objects, tested


# ---- of this script itself: a sound tree, and trees with one thing wrong each

SOUND = {
    'main.c': ('#include "commands/serve.h"\n', '', 'serve'),
    'commands/serve.h': ('/* ok */\nvoid serve(void);\n',),
    'commands/serve.c': ('#include "commands/serve.h"\n#include "engine/op.h"\n', 'serve', 'op_new ops'),
    'engine/op.h': ('struct op {\n\tint a;\n};\n_Static_assert(1, "");\nextern int ops[4];\n#define X(a) other(a)\n'
                    'struct op *op_new(int kind, void (*done)(void *arg))\n\tMUST_CHECK;\n',),
    'engine/op.c': ('#include "engine/op.h"\n#include <stdio.h>\n', 'op_new ops', 'lane_push'),
    'engine/lane/lane.h': ('static inline int two(void)\n{\n\treturn 2;\n}\nvoid lane_push(void);\n',),
    'engine/lane/lane.c': ('#include "engine/lane/lane.h"\n#include "engine/base/text.h"\n', 'lane_push', 'text_add'),
    'engine/base/text.h': ('void text_add(const char *what); /* for op_new */\nvoid text_cut(void);\n'
                           '/* Its length, for tests. */\nint text_length(void);\n',),
    'engine/base/text.c': ('#include "engine/base/text.h"\nvoid text_cut(void)\n{\n\ttext_cut();\n}\n',
                           'text_add text_cut text_length', ''),
}
BREAKS = (
    ('circle of 2 files: engine/lane/lane, engine/op',
     {'engine/lane/lane.c': ('#include "engine/lane/lane.h"\n', 'lane_push', 'op_new')}),
    ('circle of 2 files: commands/serve, engine/op', {'engine/op.h': ('#include "commands/serve.h"\n',)}),
    ('circle of 2 rooms: api, jobs',
     {'jobs/a.h': ('',), 'jobs/a.c': ('#include "jobs/a.h"\n', 'a', 'b'),
      'api/b.h': ('',), 'api/b.c': ('#include "api/b.h"\n', 'b', 'a')}),
    ('arrow that jobs must not have: jobs/a -> commands/serve',
     {'jobs/a.h': ('',), 'jobs/a.c': ('#include "jobs/a.h"\n#include "commands/serve.h"\n', 'a', '')}),
    ('circle of 2 rooms: engine/lane, engine/write',
     {'engine/write/a.h': ('',), 'engine/write/a.c': ('#include "engine/write/a.h"\n', 'a', 'lane_push'),
      'engine/lane/b.h': ('',), 'engine/lane/b.c': ('#include "engine/lane/b.h"\n', 'b', 'a')}),
    ('arrow that engine/write must not have: engine/write/a -> engine/lane/lane',
     {'engine/write/a.h': ('',), 'engine/write/a.c': ('#include "engine/write/a.h"\n', 'a', 'lane_push')}),
    ('arrow that engine/read must not have: engine/read/a -> engine/lane/lane',
     {'engine/read/a.h': ('',), 'engine/read/a.c': ('#include "engine/read/a.h"\n', 'a', 'lane_push')}),
    ('arrow that engine/db must not have: engine/db/a -> engine/server/b',
     {'engine/server/b.h': ('',), 'engine/db/a.h': ('',),
      'engine/db/a.c': ('#include "engine/db/a.h"\n#include "engine/server/b.h"\n', 'a', '')}),
    ('arrow that api must not have: api/a -> engine/server/b',
     {'engine/server/b.h': ('',), 'api/a.h': ('',),
      'api/a.c': ('#include "api/a.h"\n#include "engine/server/b.h"\n', 'a', '')}),
    ('arrow that api/http must not have: api/http/a -> engine/lane/lane',
     {'api/http/a.h': ('',), 'api/http/a.c': ('#include "api/http/a.h"\n', 'a', 'lane_push')}),
    ('arrow that schema must not have: schema/a -> engine/op',
     {'schema/a.h': ('',), 'schema/a.c': ('#include "schema/a.h"\n', 'a', 'ops')}),
    ('door: engine/op.h declares what stands in engine/base/text.c: text_add',
     {'engine/op.h': ('struct op *op_new(int kind);\nvoid text_add(const char *what);\n',)}),
    ('door: engine/op.h declares what stands in engine/base/text.c: text_add',
     {'engine/op.h': ('extern int text_add[4];\n',)}),
    ('door: engine/op.h declares what stands nowhere: op_start', {'engine/op.h': ('void op_start(void);\n',)}),
    ('caller: engine/op.c has op_end, which nobody uses',
     {'engine/op.h': ('void op_end(void);\n',), 'engine/op.c': ('#include "engine/op.h"\nvoid op_end(void)', 'op_end', '')}),
    ('caller: engine/op.c has op_end, which no other file uses',
     {'engine/op.h': ('void op_end(void);\n',), 'engine/op.c': ('#include "engine/op.h"\nop_end op_end', 'op_end', '')}),
    ('caller: engine/base/text.c has text_length, which only tests use',
     {'engine/base/text.h': ('void text_add(const char *what);\nvoid text_cut(void);\nint text_length(void);\n',)}),
    ('door: engine/op.c includes stdio.h first', {'engine/op.c': ('#include <stdio.h>\n', 'op_new', '')}),
    ('door: jobs/a.c has no jobs/a.h', {'jobs/a.c': ('', 'a', '')}),
    ('arrow that engine/lane must not have: engine/lane/lane -> jobs/task/task.sql: TASK_CLAIM',
     {'jobs/task/task.sql': ('-- name: task_claim\nSELECT 1;\n',),
      'engine/lane/lane.c': ('#include "engine/lane/lane.h"\nint a = TASK_CLAIM;\n', 'lane_push', '')}),
    ('arrow that engine must not have: engine/op.sql -> jobs/task/task.sql: {due}',
     {'jobs/task/task.sql': ('-- piece: due\n1\n',), 'engine/op.sql': ('-- name: op\nSELECT {due};\n',)}),
    ('arrow that engine must not have: engine/op -> jobs/task/kinds.def',
     {'jobs/task/kinds.def': ('',), 'engine/op.h': ('struct op *op_new(int kind);\n#include "jobs/task/kinds.def"\n',)}),
    ('door: engine/op.c includes engine/lane/state.h, which is private',
     {'engine/lane/state.h': ('/* state.h - a lane, private to engine/lane\n * and engine/write. */\n',),
      'engine/op.c': ('#include "engine/op.h"\n#include "engine/lane/state.h"\n', 'op_new ops', '')}),
    ('door: engine/lane/lane.c includes engine/base/piece.h, which is private',
     {'engine/base/piece.h': ('/* piece.h - for text.c alone. */\n',),
      'engine/lane/lane.c': ('#include "engine/lane/lane.h"\n#include "engine/base/piece.h"\n', 'lane_push', '')}),
    ('name: engine/op.c and jobs/op.c have the same name',
     {'jobs/op.h': ('',), 'jobs/op.c': ('#include "jobs/op.h"\n', 'a', '')}),
)


def judge_made_up(tree):
    return judge({path: parts[0] for path, parts in tree.items()},
                 {path[:-2]: (set(parts[1].split()), set(parts[2].split()))
                  for path, parts in tree.items() if path.endswith('.c')}, {'text_cut', 'text_length'})


def prove():
    assert judge_made_up(SOUND) == [], judge_made_up(SOUND)
    for expected, changes in BREAKS:
        found = judge_made_up({**SOUND, **changes})
        assert any(line.startswith(expected) for line in found), (expected, found)


def main():
    prove()
    wrong = judge(*read_tree(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else 'build')))
    for line in wrong:
        print('rooms: ' + line)
    print(f'rooms: {len(wrong)} to mend' if wrong else 'rooms: nothing to mend')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
