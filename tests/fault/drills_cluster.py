"""Drills on three nodes of Galera: nodes die, freeze and are cut off while three services sell from all of them."""
import contextlib
import pathlib
import random
import re
import signal
import subprocess
import threading
import time

import check
import clients
import drills_arrivals
import drills_events
import drills_line
import events
import patience
from cluster import DETECTION, NODES, SYNCED_S, ClusterStage
from patience import PATIENCE_S
from proxy import AtCommit, Clear
from stage import Skipped, Trouble, json_post, wait_until

CALLS = 30              # calls that are answered between two faults
CLIENTS = 12
AGAIN_S = 6 * PATIENCE_S # from a fault until the services answer again
STOP_S = (2, 60)        # how long a node is frozen
CUT_S = (1, 20)
JOBS = '--jobs=expire,settle,reap'
ALLOW = ('--webhooks-allow', '127.0.0.0/8')
AHEAD_S = (0, 3, 1.5)   # of the clocks of nodes that differ
BEHIND_S = 20           # how long a node is kept behind the others, at most
AGAIN_P50_S = 3         # from the first COMMIT on a survivor to the next acknowledged order
WAITING, LOST, REST = 3_000, 600, 10    # orders that wait for a sku; that lose its units again; units for no order
A_CALL = 500
ROOT = pathlib.Path(__file__).resolve().parents[2]


def of_steps():
    """Statements that take back what steps behind version 19 add: OF_STEPS of nineteen.h, which says it once."""
    words = (ROOT / 'tests/schema/nineteen.h').read_text().split('#define OF_STEPS', 1)[1].split('#define', 1)[0]
    return ''.join(re.findall('"([^"]*)"', words))


def version_of(rows):
    """The tables and the rows of versions as a program of such a version left them."""
    return f'USE holdfast; DELETE FROM schema_version; {of_steps()} INSERT INTO schema_version VALUES {rows}'


VERSION_19 = version_of('(19, UTC_TIMESTAMP(3))')
BEGUN = version_of('(20, UTC_TIMESTAMP(3)), (-20, UTC_TIMESTAMP(3))')
ORDER = [{'sku': 'B', 'qty': 1}]
DUMP = ROOT / 'tests/schema/nineteen_dump.sql'
STEPS = sorted(int(path.name[:3]) for path in ROOT.glob('schema/0*.sql'))


class Watched:
    """How long the services stood still: from the first COMMIT of a plain connection on a survivor to the first
    order that is acknowledged."""

    def __init__(self, stage, survivor):
        self.told, self.survivor, self.took_s = stage.journal.counts, survivor, None
        self.thread = threading.Thread(target=self.watch, args=(stage,), daemon=True)
        self.thread.start()

    def watch(self, stage):
        if wait_until(self.survivor.commits, AGAIN_S, 'a survivor commits') is not None:
            before, began = self.told['acknowledged'], time.monotonic()
            while self.told['acknowledged'] == before and not patience.is_over(began, AGAIN_S):
                time.sleep(0.01)
            self.took_s = time.monotonic() - began

    def end(self):
        self.thread.join(patience.scaled(2 * AGAIN_S))
        if self.took_s is None:
            raise Trouble('no survivor committed')
        return self.took_s


def load_of(stage, **how):
    """Each client begins with a service of its own."""
    load = stage.load(clients=CLIENTS, expire=0.1, **how)
    for client in load.clients:
        client.connection.at = client.number % len(stage.services)
    return load


def all_run(stage):
    """Starts nodes that have ended by themselves: a node does so when its transfer of state is cut (`Will never receive
    state`)."""
    for node in stage.cluster.nodes:
        if node.process.poll() is not None:
            node.start()
            stage.say(f'n{node.number + 1} had ended by itself, and was started again')
    return all(node.synced() and node.status('wsrep_cluster_size') == str(NODES) for node in stage.cluster.nodes)


def settled(stage, load, i):
    """All nodes are well, and every service is ready. That a node calls itself synced proves nothing: it commits, and
    behind that commit it still is."""
    wait_until(lambda: all_run(stage), SYNCED_S, f'{NODES} nodes are synced')
    for node in stage.cluster.nodes:
        node.wait_synced()
        wait_until(node.commits, SYNCED_S, f'n{node.number + 1} commits')
    for node in stage.cluster.nodes:
        node.wait_synced()
    for service in stage.services:
        service.wait_ready()
    stage.progress(load, CALLS, AGAIN_S, f'round {i}: no progress after the fault')


def rounds_of(stage, load):
    """The numbers of the rounds; before each there is progress, behind it all is well again."""
    for i in range(stage.run.rounds):
        stage.progress(load, CALLS, AGAIN_S, f'round {i}: no progress')
        yield i
        settled(stage, load, i)


def faults(run, act, spread=True, **how):
    """`act` breaks a node once a round, and heals it; it says what it did. spread: each service begins with another
    node."""
    dice = random.Random(run.seed)
    with ClusterStage(run, **how) as stage:
        stage.serve_all('--lanes', '2', JOBS, spread=spread)
        said, took = {}, []
        with load_of(stage) as load:
            for i in rounds_of(stage, load):
                node = stage.cluster.nodes[dice.randrange(NODES)]
                word, again_s = act(stage, load, node, dice, i)
                said[word] = said.get(word, 0) + 1
                took += [again_s] if again_s is not None else []
        stage.verify()
        stage.say(', '.join(f'{n} {word}' for word, n in said.items()))
        if took:
            took.sort()
            p50 = took[len(took) // 2]
            stage.say('from the first COMMIT on a survivor to the next acknowledged order: p50 '
                      f'{p50:.2f} s, most {took[-1]:.2f} s, {len(took)} times')
            stage.need(run.slice or p50 <= AGAIN_P50_S, f'that is more than {AGAIN_P50_S} s')
        return stage.said


def survivor_of(stage, node):
    return next(other for other in stage.cluster.nodes if other is not node)


def kill(stage, load, node, dice, _i):
    time.sleep(dice.random() * 0.05)
    node.kill()
    watched = Watched(stage, survivor_of(stage, node))
    again_s = watched.end()
    node.start()
    return 'kills', again_s


def kill_theirs(stage, load, _node, dice, i):
    """The node that all services use."""
    name = re.search(r'^holdfast_node_info{node="n(\d)"', stage.services[0].get('/metrics', 15)[1], re.MULTILINE)
    return kill(stage, load, stage.cluster.nodes[int(name[1]) - 1], dice, i)


def kill_at_commit(stage, load, _node, dice, i):
    """Shortly after the COMMIT of a batch was sent, or when its answer is there, which is lost. The node with the most
    connections: services that have moved do not move back."""
    node = max(stage.cluster.nodes, key=lambda one: len(stage.between[one.number].pairs))
    between, held_back = stage.between[node.number], i % 3 == 2
    between.fault = at = AtCommit(node.kill, after_s=dice.random() * 0.004, held_back=held_back, lanes=True)
    stage.need(at.struck.wait(patience.scaled(AGAIN_S)), f'round {i}: no batch was committed on n{node.number + 1}')
    watched = Watched(stage, survivor_of(stage, node))
    between.fault = Clear()
    again_s = watched.end()
    node.start()
    return 'kills ' + ('before the answer to a COMMIT' if held_back else 'behind a COMMIT'), again_s


def stop(stage, load, node, dice, _i):
    """A frozen node takes connections, and answers nothing."""
    longest = 4 if stage.run.slice else STOP_S[1]
    node.signal(signal.SIGSTOP)
    time.sleep(STOP_S[0] + dice.random() ** 2 * (longest - STOP_S[0]))
    node.signal(signal.SIGCONT)
    return 'stops', None


def cut(stage, load, node, dice, i):
    """Both ways, one way, or from the services, too; or only some of what is sent is lost."""
    longest = 4 if stage.run.slice else CUT_S[1]
    network, number = stage.cluster.network, node.number
    how = ('both ways', 'what comes in', 'what goes out', 'from everybody', '5 % lost')[i % 5]
    if how == '5 % lost':
        network.lose(number)
    else:
        network.cut(number, {'what comes in': ('in',), 'what goes out': ('out',)}.get(how, ('in', 'out')),
                    everybody=how == 'from everybody')
    time.sleep(CUT_S[0] + dice.random() ** 2 * (longest - CUT_S[0]))
    network.heal(number)
    return f'cuts ({how})', None


def kills(run):
    """A node dies under load, and comes back from its recovered position."""
    return faults(run, kill)


def moves(run):
    """The recommended way: all services use one node, which dies."""
    return faults(run, kill_theirs, spread=False)


def kills_at_commit(run):
    """The same right at the COMMIT of a batch."""
    return faults(run, kill_at_commit, between=True)


def kills_slowly(run):
    """The same where a dead node is noticed as Galera does by default."""
    return faults(run, kill, detection='evs.suspect_timeout=PT5S')


def stops(run):
    """A node freezes under load."""
    return faults(run, stop)


def cuts(run):
    """A node is cut off under load."""
    def act(stage, *rest):
        if not stage.cluster.network:
            raise Skipped('needs network namespaces: on loopback nothing can be cut')
        return cut(stage, *rest)
    return faults(run, act)


def all_killed(run):
    """All nodes die at once. The one that has most begins again, the others join it."""
    with ClusterStage(run) as stage:
        stage.serve_all('--lanes', '2', JOBS)
        with load_of(stage) as load:
            for _ in rounds_of(stage, load):
                for node in stage.cluster.nodes:
                    node.kill()
                stage.need(all(service.get('/livez')[0] == 200 for service in stage.services), 'a service died')
                stage.say('positions: ' + ', '.join(f'{n} {at}' for n, at in stage.cluster.start_again().items()))
        stage.verify()
        return stage.said


def quorum(run):
    """Two of three nodes die: no service sells. They come back, and every service sells."""
    with ClusterStage(run) as stage:
        stage.serve_all('--lanes', '2', JOBS)
        with load_of(stage) as load:
            for _ in rounds_of(stage, load):
                for node in stage.cluster.nodes[1:]:
                    node.kill()
                wait_until(lambda: all(service.get('/readyz')[0] == 503 for service in stage.services), AGAIN_S,
                           'every service says that it is not ready')
                stage.need(all(service.get('/livez')[0] == 200 for service in stage.services), 'a service died')
                before = stage.journal.counts['acknowledged']
                time.sleep(3)
                stage.need(stage.journal.counts['acknowledged'] == before, 'something was acknowledged without a quorum')
                for node in stage.cluster.nodes[1:]:
                    node.start()
        stage.verify()
        stage.say(f'{run.rounds} losses of the quorum')
        return stage.said


def join(run):
    """A node comes back without anything of its own, by a transfer of the state, under load. It is a new member of the
    group: if it came before the others have let the old one go, Galera 26.4 can lose the quorum for good."""
    with ClusterStage(run) as stage:
        stage.serve_all('--lanes', '2', JOBS)
        with load_of(stage) as load:
            for i in rounds_of(stage, load):
                node = stage.cluster.nodes[i % NODES]
                node.kill()
                node.wipe()
                other = stage.cluster.nodes[(i + 1) % NODES]
                wait_until(lambda: other.status('wsrep_cluster_size') == str(NODES - 1), SYNCED_S, 'the others let it go')
                node.start()
        stage.verify()
        stage.say(f'{run.rounds} transfers of the whole state, each within {SYNCED_S} s')
        return stage.said


def commands(run):
    """Migrations on all nodes at once, of version 19 and of a baseline that was cut off: one at a time is at work, and
    all of them end well. tune says that it does not run here."""
    with ClusterStage(run) as stage:
        for i in range(run.rounds):
            stage.database.sql_as_root(VERSION_19 if i % 2 == 0 else BEGUN)
            every = [subprocess.Popen([run.holdfast, 'migrate', '--db', f'{stage.url}?start={k + 1}'],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      text=True) for k in range(NODES)]
            for one in every:
                said = one.communicate(timeout=patience.scaled(2 * AGAIN_S))[1]
                stage.need(one.returncode == 0, f'round {i}: migrate: exit {one.returncode}: {said}')
            stage.need(stage.database.sql('SELECT COUNT(*) FROM schema_version WHERE version <= 0') == [('0',)],
                       f'round {i}: a migration has left something')
            stage.command('migrate', '--check')
        done = subprocess.run([run.holdfast, 'tune', '--seconds', '1', '--db', stage.url], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=patience.scaled(AGAIN_S))
        stage.need(done.returncode == 78 and 'cluster' in done.stderr, f'tune: {done.returncode} {done.stderr}')
        stage.say(f'{run.rounds} times three migrations at once')
        return stage.said


def sums_of(database):
    """A statement that gives a sum of each table over the columns that it has now. Later steps add columns."""
    columns = database.sql("SELECT table_name, GROUP_CONCAT(CONCAT('IFNULL(HEX(', column_name, '), 0)')) "
                           "FROM information_schema.columns WHERE table_schema = DATABASE() "
                           "AND table_name <> 'schema_version' GROUP BY table_name ORDER BY table_name")
    return ' UNION ALL '.join(f"SELECT '{name}', COUNT(*), SUM(CRC32(CONCAT_WS(',', {of}))) FROM {name}"
                              for name, of in columns)


def adoption(run):
    """A filled database of version 19 is adopted by migrations on all nodes at once. All nodes have its rows as they
    were, and one row of a version more; every invariant holds; services sell from it."""
    with ClusterStage(run) as stage:
        stage.database.sql_as_root(f'DROP DATABASE holdfast; CREATE DATABASE holdfast; USE holdfast;\n{DUMP.read_text()}')
        sums = sums_of(stage.database)
        before = stage.database.sql(sums)
        every = [subprocess.Popen([run.holdfast, 'migrate', '--db', f'{stage.url}?start={k + 1}'],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True) for k in range(NODES)]
        said_all = [one.communicate(timeout=2 * AGAIN_S)[1] for one in every]
        stage.need(not any(one.returncode for one in every), f'migrate: {said_all}')
        stage.need(sum('adopted' in words for words in said_all) == 1, f'one of them adopts it: {said_all}')
        for node in stage.cluster.nodes:
            stage.need(node.sql(sums) == before, f'n{node.number + 1} has other rows')
            stage.need(node.sql('SELECT COUNT(*), MAX(version), MIN(version) FROM schema_version')
                       == [(str(20 + len(STEPS)), str(STEPS[-1]), '1')], f'n{node.number + 1}: schema_version')
        stage.command('audit')
        stage.serve_all('--lanes', '2')
        for k, service in enumerate(stage.services):
            status, _, answer = json_post(service, '/v1/reservations', {'order_id': f'N{k}', 'lines': ORDER})
            stage.need(status == 201, f'{status} {answer}')
        stage.agree()
        stage.command('audit')
        return stage.said


def all_serve(stage):
    """Starts services that have ended: a program that meets another schema does."""
    for service in stage.services:
        if not service.alive():
            service.start(ready=False)
    return all(service.get('/readyz')[0] == 200 for service in stage.services)


def migrations(run):
    """The tables are adopted once more under load, as if they were of version 19. Services that meet that version end, and
    are started again."""
    with ClusterStage(run) as stage:
        stage.serve_all('--lanes', '2', JOBS)
        took = []
        with load_of(stage) as load:
            for i in rounds_of(stage, load):
                began = time.monotonic()
                stage.database.sql_as_root(VERSION_19)
                stage.command('migrate')
                took.append(time.monotonic() - began)
                wait_until(lambda: all_serve(stage), AGAIN_S, 'all services are ready')
        stage.verify()
        stage.say(f'{run.rounds} migrations under load, the longest {max(took):.1f} s')
        return stage.said


@contextlib.contextmanager
def behind(node):
    """The node applies nothing of the others for as long as the block lasts. Its services keep their node."""
    holder = subprocess.Popen(['mariadb', '--no-defaults', '-uroot', f'--socket={node.socket}', '--unbuffered', '-N', '-e',
                               f'FLUSH TABLES WITH READ LOCK; SELECT 1; DO SLEEP({BEHIND_S})'], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE)
    try:
        holder.stdout.readline()
        yield
    finally:
        holder.kill()
        holder.wait()


# method, path, body: reads, reads before a write, compounds; what a lane writes waits for the lock, not for the nodes
IN_VAIN = [('GET', '/v1/reservations/R1', None), ('GET', '/v1/skus/A', None), ('GET', '/v1/events?limit=1', None),
           ('GET', '/v1/reservations?state=held', None), ('POST', '/v1/tasks', {'kind': 'settle', 'worker': 'w'}),
           ('PUT', '/v1/skus/A', {'per_customer': 5}), ('PUT', '/v1/locations/qc', {'kind': 'aside'}),
           ('PUT', '/v1/skus/A/threshold', {'low': 1}), ('DELETE', '/v1/webhooks/W', None),
           ('POST', '/v1/kicks', {})]


def ask(service, method, path, body=None):
    connection = clients.Connection([service])
    status, _, answer = connection.call(method, path, body)
    connection.close()
    return status, answer or {}


def too_large(stage, node, service):
    """A batch writes more rows than the node lets a transaction have: nothing is done until it does."""
    many = [{'order_id': f'many-{i}', 'mode': 'best_effort', 'lines': [{'sku': 'A', 'qty': 1}]} for i in range(20)]
    ask(service, 'POST', '/v1/movements', {'movement_id': 'MANY', 'kind': 'receipt', 'lines': [{'sku': 'A', 'qty': 99}]})
    node.sql_as_root('SET GLOBAL wsrep_max_ws_rows = 5')
    status, answer = ask(service, 'POST', '/v1/reservations/batch', {'reservations': many})
    told = sorted({(one['status'], one.get('code')) for one in answer.get('results', [])}, key=str) or (status, answer)
    node.sql_as_root('SET GLOBAL wsrep_max_ws_rows = 0')
    stage.say(f'a batch of more rows than a node takes: {told}')
    stage.need(all(ask(service, 'GET', f'/v1/reservations/{one["order_id"]}')[0] == 404 for one in many), 'something was done')
    status, answer = ask(service, 'POST', '/v1/reservations/batch', {'reservations': many})
    stage.need(all(one['status'] == 201 for one in answer['results']), f'{status} {answer}')


def waits(run):
    """A node of a cluster waits for what another node has committed. Where it waits in vain, it is unavailable,
    whatever the call. Rows deleted there are deleted here."""
    with ClusterStage(run) as stage:
        one, other = stage.cluster.nodes[:2]
        here, there = (stage.serve('--lanes', '2', *ALLOW, name=f'serve{i}', db=f'mariadb://app@{node.host}/holdfast')
                       for i, node in enumerate((one, other)))
        lines = [{'sku': 'A', 'qty': 10}]
        stage.need(ask(here, 'POST', '/v1/movements', {'movement_id': 'M', 'kind': 'receipt', 'lines': lines})[0] == 201,
                   'nothing was received')
        hook = {'webhook_id': 'W', 'url': 'http://127.0.0.1:9/', 'from': 'oldest'}
        for i in range(run.rounds):
            with behind(other):
                status, answer = ask(here, 'POST', '/v1/webhooks', hook)
                stage.need(status == 201, f'round {i}: a webhook: {status} {answer}')
                deleted = threading.Thread(target=lambda: told.append(ask(there, 'DELETE', '/v1/webhooks/W')[0]))
                told = []
                deleted.start()
                time.sleep(1)
            deleted.join()
            stage.need(told == [204], f'round {i}: DELETE: {told}')
            for service in (here, there):
                stage.need(ask(service, 'GET', '/v1/webhooks/W')[0] == 404, f'round {i}: {service.name} still has it')
        for method, path, body in IN_VAIN:
            with behind(other):
                stage.need(ask(here, 'POST', '/v1/reservations', {'order_id': f'{time.monotonic_ns()}', 'lines': [
                    {'sku': 'A', 'qty': 1}], 'mode': 'best_effort'})[0] in (201, 409), 'the first node does not sell')
                status, answer = ask(there, method, path, body)
                stage.need((status, answer.get('code')) == (503, 'unavailable'), f'{method} {path}: {status} {answer}')
        too_large(stage, one, here)
        stage.agree()
        stage.say(f'{run.rounds} webhooks deleted on a node that was behind; {len(IN_VAIN)} calls were told unavailable')
        return stage.said


def heard(run, act=None, **how):
    """Nodes die, and what was acknowledged is told once, in its order, to readers and by deliverers that change nodes,
    while workers on different nodes settle it."""
    dice = random.Random(run.seed)
    with ClusterStage(run, **how) as stage:
        if 'ahead_s' in how:
            told = [float(node.sql('SELECT UNIX_TIMESTAMP(SYSDATE(3))')[0][0]) - time.time() for node in stage.cluster.nodes]
            stage.need(max(told) - min(told) > max(AHEAD_S) - 1, f'the clocks do not differ: {told}')
        stage.serve_all('--lanes', '2', '--jobs=expire', *ALLOW)
        listeners = [(stage.keep(events.Reader(stage.services[i:] + stage.services[:i], f'reader-{i}', seed=run.seed)), set())
                     for i in range(NODES)]
        lease = ('--lease', '2', '--max-attempts', '200')
        for i in range(NODES):
            listeners[i][0].start()
            stage.beside(f'work-{i}', 'work', 'settle', '--batch', '20', *lease, start=i + 1)
            stage.beside(f'deliver-{i}', 'work', 'deliver', *ALLOW, '--lease', '2', start=i + 1)
        stage.beside('reap', 'reap', '--every', '1', '--max-attempts', '200', start=2)
        webhooks, clerk = stage.keep(drills_events.Webhooks(stage)), stage.keep(drills_events.Clerk(stage))
        clerk.start()
        said = {}
        with load_of(stage, wide=True) as load:
            for i in rounds_of(stage, load):
                word = (act or kill)(stage, load, stage.cluster.nodes[dice.randrange(NODES)], dice, i)[0]
                said[word] = said.get(word, 0) + 1
        clerk.end()
        drills_events.settled(stage)
        super(ClusterStage, stage).verify()
        drills_events.settled(stage)
        troubles = list(drills_events.check_story(stage, listeners)) or list(webhooks.verify(stage.wanted))
        if troubles:
            stage.disagree(f'{len(troubles)} disagreements\n' + '\n'.join(troubles[:check.TOLD_MAX]))
        stage.agree()
        stage.say(', '.join(f'{n} {word}' for word, n in said.items()))
        return stage.said


def clocks(run):
    """The same on nodes with clocks that are 3 s apart."""
    def pause(_stage, load, *_rest):
        load.progress(20 * CALLS, AGAIN_S)
        return 'loads on nodes with clocks apart', None
    return heard(run, act=lambda stage, load, node, dice, i: (kill if i % 2 else pause)(stage, load, node, dice, i),
                 ahead_s=AHEAD_S)


def line(run):
    """Paid orders wait for units at three services on three nodes, and newcomers ask for them."""
    with ClusterStage(run) as stage:
        stage.serve_all('--lanes', '2', '--jobs=expire')
        drills_line.tried(run, stage)
        stage.agree()
        return stage.said


def counts(run):
    """Two counts of a place at once, through two nodes: one of them comes behind the other, and knows it."""
    dice = random.Random(run.seed)
    with ClusterStage(run) as stage:
        stage.serve_all('--lanes', '2')
        lines, again = [clients.Connection([service]) for service in stage.services], 0
        for i in range(run.rounds):
            sku, pair = f'C{i}', [lines[(i + k) % NODES] for k in range(2)]
            status, _, answer = lines[i % NODES].call('POST', '/v1/movements', {
                'movement_id': f'{sku}-r', 'kind': 'receipt', 'lines': [{'sku': sku, 'qty': 30}]})
            stage.need(status == 201, f'{sku}: {status} {answer}')
            counted = [50, 50] if i % 2 else [dice.randint(0, 60), dice.randint(0, 60)]
            bodies = [{'movement_id': f'{sku}-{k}', 'kind': 'count', 'lines': [{'sku': sku, 'counted': n}]}
                      for k, n in enumerate(counted)]
            for line, body in zip(pair, bodies):
                line.send('POST', '/v1/movements', body)
            told = [line.receive() for line in pair]
            for k, (line, body) in enumerate(zip(pair, bodies)):
                while told[k][0] == 503:
                    again += 1
                    told[k] = line.call('POST', '/v1/movements', body)
                stage.need(told[k][0] in (200, 201), f'{sku}: {told[k]}')
            by = [answer['lines'][0]['qty'] for _, _, answer in told]
            on_hand = lines[(i + 2) % NODES].call('GET', f'/v1/skus/{sku}')[2]['on_hand']
            one, other = counted
            stage.need((on_hand, by) in ((other, [one - 30, other - one]), (one, [one - other, other - 30])),
                       f'{sku}: counted {counted}, told {by}, and on hand are {on_hand}')
        for line in lines:
            line.close()
        stage.command('audit')
        stage.agree()
        stage.say(f'{run.rounds} pairs of counts through two nodes, all right; {again} times told 503 and sent again')
        return stage.said


class Waiting:
    """Orders that wait for a sku of their own, what arrives for them, and what they lose again. All of it stands in the
    journal."""

    def __init__(self, stage, load, number, dice):
        self.stage, self.load, self.dice, self.sku, self.told = stage, load, dice, f'x{number}', []
        self.clients = [clients.Client(load, f'{self.sku}-{i}') for i in range(len(stage.services))]
        for i, client in enumerate(self.clients):
            client.connection.at = i

    def close(self):
        for client in self.clients:
            client.connection.close()

    def again(self, client, call, id_, sent):
        """Until it has an answer, which is right."""
        began, status = time.monotonic(), None
        while status in (None, 503):
            self.stage.need(not patience.is_over(began, AGAIN_S),
                            f'{call} {id_} had no answer in {time.monotonic() - began:.1f} s')
            with contextlib.suppress(clients.NotConnected):
                status = client.call(call, id_, sent)
        self.stage.need(status < 300, f'{call} {id_}: {status} {client.answer}')
        return client.answer

    def move(self, client, call, what, kind, *lines):
        id_ = f'{self.sku}-{what}'
        return self.again(client, call, id_, {'movement_id': id_, 'kind': kind,
                                              'lines': [{'sku': self.sku, **line} for line in lines]})

    def make(self, count):
        """Two of three are confirmed. Through each service in turn."""
        self.move(self.clients[0], 'receipt', 'ordered', 'receipt', {'location': 'po', 'qty': count + REST})
        for first in range(0, count, A_CALL):
            asked = [(id_, {'order_id': id_, 'ttl_s': clients.LONG_TTL_S, 'confirm': self.dice.random() < 0.66,
                            'lines': [{'sku': self.sku, 'location': 'po', 'qty': 1}]})
                     for id_ in (f'{self.sku}-{first + i}' for i in range(min(A_CALL, count - first)))]
            began = time.monotonic()
            while asked:
                done = self.clients[first // A_CALL % len(self.clients)].call_many('reserve', asked)
                asked = [one for one in asked if one[0] not in done]
                self.stage.need(not patience.is_over(began, AGAIN_S), f'{len(asked)} orders of {self.sku} were not made')
        return self.line()

    def sql(self, text):
        """On a node that lives, and has what the others have; asked again where it dies meanwhile."""
        began = time.monotonic()
        while True:
            node = next(node for node in self.stage.cluster.nodes if node.process.poll() is None)
            try:
                return node.sql(f'SET SESSION wsrep_sync_wait = 1;\n{text}')
            except RuntimeError:
                if patience.is_over(began, AGAIN_S):
                    raise
                time.sleep(0.1)

    def line(self):
        return [row[0] for row in self.sql(drills_arrivals.THE_LINE.replace(
            ' ORDER', f" WHERE sku_id = (SELECT sku_id FROM sku WHERE code = '{self.sku}') ORDER"))]

    def are_at(self, ids, location):
        for id_ in ids:
            self.load.journal.write({'call': 'moved', 'id': id_, 'other': None, 'sent': {}, 'status': 200, 'ms': 0,
                                     'wait': None, 'replayed': False, 'may_expire': False, 'answer': {
                                         'lines': [{'sku': self.sku, 'location': location, 'qty': 1}]}})

    def handed_out(self, line, before):
        """All units went to orders in the queue: to each once, in queue order."""
        wait_until(lambda: self.sql('SELECT COUNT(*) FROM arrival_open') == [('0',)], AGAIN_S, 'all is handed out')

        def heard():
            return [id_ for id_ in drills_arrivals.served(self.stage.services) if id_.startswith(f'{self.sku}-')][before:]
        with contextlib.suppress(Trouble):
            wait_until(lambda: len(heard()) >= len(line), CALLS, 'all is told')
        told = heard()
        self.stage.need(told == line, f'{self.sku}: {len(line)} orders were not served once, in the order of the line: '
                        f'{len(told)} were, {len(set(told) & set(line))} of these')
        self.are_at(line, 'main')
        return len(line)

    def lose(self, client, line):
        """A count finds fewer: from the end of the line on they wait again."""
        told = self.move(client, 'count', 'lost', 'count', {'counted': len(line) - LOST, 'short': 'backorder', 'to': 'po'})
        lost = [one['order_id'] for one in told['backordered']]
        self.stage.need(lost == line[-LOST:], f'{self.sku}: not the end of the line lost its units: {lost[:5]}')
        self.are_at(lost, 'po')
        self.stage.need(self.line() == lost, f'{self.sku}: who lost units does not wait as before')
        return lost


def arrivals(run):
    """Orders wait, made through three nodes, and their units arrive through one; some of them are lost again, counted
    through another one, and others arrive. A node dies in the midst of the arrival, or of the loss."""
    dice = random.Random(run.seed)
    with ClusterStage(run) as stage:
        stage.serve_all('--lanes', '2', '--jobs=expire')
        served, open_at = 0, 0
        with load_of(stage, places=False) as load:
            clients.Client(load, 'po').call('location', 'po', {'kind': 'incoming'})
            for i in rounds_of(stage, load):
                waiting, node = Waiting(stage, load, i, dice), stage.cluster.nodes[dice.randrange(NODES)]
                line = waiting.make(WAITING)
                stage.need(len(line) == WAITING, f'{len(line)} orders wait')

                def dies():
                    time.sleep(dice.random() * 0.4)
                    node.kill()
                killer = threading.Thread(target=dies)
                arrive = {'from': 'po', 'to': 'main'}
                if i % 2 == 0:
                    killer.start()
                waiting.move(waiting.clients[i % NODES], 'transfer', 'came', 'arrival', {**arrive, 'qty': WAITING + REST})
                open_at += int(waiting.sql('SELECT COUNT(*) FROM arrival_open')[0][0])
                served += waiting.handed_out(line, 0)
                if i % 2:
                    killer.start()
                lost = waiting.lose(waiting.clients[(i + 1) % NODES], line)
                waiting.move(waiting.clients[(i + 2) % NODES], 'transfer', 'more', 'arrival', {**arrive, 'qty': LOST})
                served += waiting.handed_out(lost, len(line))
                killer.join()
                node.start()
                waiting.close()
        stage.verify()
        stage.say(f'{run.rounds} kills of a node: {served:,} times an order was served, in the order of the line, '
                  f'{run.rounds * LOST:,} of them anew, as their units had been lost; {open_at} arrivals were answered '
                  'before all was handed out')
        return stage.said


def mixed(run):
    """A few kills, stops and cuts in one run."""
    def act(stage, load, node, dice, i):
        acts = [kill, stop, cut, kill, stop, cut, kill] if stage.cluster.network else [kill, stop, kill, stop, kill]
        return acts[i % len(acts)](stage, load, node, dice, i // 3)
    return faults(run, act, detection=DETECTION)
