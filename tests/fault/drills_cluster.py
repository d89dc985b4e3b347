"""Drills on three nodes of Galera: nodes die, freeze and are cut off while three services sell from all of them."""
import random
import signal
import subprocess
import threading
import time

from cluster import DETECTION, NODES, SYNCED_S, ClusterStage
from proxy import AtCommit, Clear
from stage import Trouble, wait_until

CALLS = 30              # that are answered between two faults
CLIENTS = 12
AGAIN_S = 60            # from a fault until the services answer again
STOP_S = (2, 60)        # how long a node is frozen
CUT_S = (1, 20)
JOBS = '--jobs=expire,settle,reap'


class Watched:
    """How long the services stood still: from the first COMMIT of a plain connection on a survivor to the first
    answered order."""

    def __init__(self, stage, load, survivor):
        self.load, self.survivor, self.took_s = load, survivor, None
        self.thread = threading.Thread(target=self.watch, args=(stage,), daemon=True)
        self.thread.start()

    def watch(self, stage):
        if wait_until(self.survivor.commits, AGAIN_S, 'a survivor commits') is not None:
            before, began = self.load.answered, time.monotonic()
            while self.load.answered == before and time.monotonic() - began < AGAIN_S:
                time.sleep(0.01)
            self.took_s = time.monotonic() - began

    def end(self):
        self.thread.join(2 * AGAIN_S)
        if self.took_s is None:
            raise Trouble('no survivor committed')
        return self.took_s


def load_of(stage):
    """Each client begins with a service of its own."""
    load = stage.load(clients=CLIENTS, expire=0.1)
    for client in load.clients:
        client.connection.at = client.number % len(stage.services)
    return load


def all_run(stage):
    """Starts nodes that have ended by themselves: one whose transfer of state is cut does (`Will never receive state`)."""
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
    stage.need(load.progress(CALLS, AGAIN_S), f'round {i}: no progress after the fault')


def rounds_of(stage, load):
    """The numbers of the rounds; before each there is progress, behind it all is well again."""
    for i in range(stage.run.rounds):
        stage.need(load.progress(CALLS, AGAIN_S), f'round {i}: no progress')
        yield i
        settled(stage, load, i)


def faults(run, act, **how):
    """`act` breaks a node once a round, and heals it; it says what it did."""
    dice = random.Random(run.seed)
    with ClusterStage(run, **how) as stage:
        stage.serve_all('--lanes', '2', JOBS)
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
            stage.say('from the first COMMIT on a survivor to the next answered order: p50 '
                      f'{took[len(took) // 2]:.2f} s, most {took[-1]:.2f} s')
        return stage.said


def survivor_of(stage, node):
    return next(other for other in stage.cluster.nodes if other is not node)


def kill(stage, load, node, dice, _i):
    time.sleep(dice.random() * 0.05)
    node.kill()
    watched = Watched(stage, load, survivor_of(stage, node))
    again_s = watched.end()
    node.start()
    return 'kills', again_s


def kill_at_commit(stage, load, _node, dice, i):
    """Shortly after the COMMIT of a batch was sent, or when its answer is there, which is lost. The node with the most
    connections: services that have moved do not move back."""
    node = max(stage.cluster.nodes, key=lambda one: len(stage.between[one.number].pairs))
    between, held_back = stage.between[node.number], i % 3 == 2
    between.fault = at = AtCommit(node.kill, after_s=dice.random() * 0.004, held_back=held_back, lanes=True)
    stage.need(at.struck.wait(AGAIN_S), f'round {i}: no batch was committed on n{node.number + 1}')
    watched = Watched(stage, load, survivor_of(stage, node))
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
    return faults(run, cut)


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
    """Two of three nodes freeze: nobody sells. They come back, and everybody does."""
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
    """A node comes back without anything of its own, by a transfer of the state, under load."""
    with ClusterStage(run) as stage:
        stage.serve_all('--lanes', '2', JOBS)
        with load_of(stage) as load:
            for i in rounds_of(stage, load):
                node = stage.cluster.nodes[i % NODES]
                node.kill()
                node.wipe()
                node.start()
        stage.verify()
        stage.say(f'{run.rounds} transfers of the whole state, each within {SYNCED_S} s')
        return stage.said


def commands(run):
    """Migrations on all nodes at once: one at a time is at work, and all of them end well. tune says that it does not
    run here."""
    with ClusterStage(run) as stage:
        for i in range(run.rounds):
            stage.database.sql_as_root(f'DELETE FROM holdfast.schema_version WHERE version > {18 - i % 3}')
            every = [subprocess.Popen([run.holdfast, 'migrate', '--db', f'{stage.url}?start={k + 1}'],
                                      stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                      text=True) for k in range(NODES)]
            for one in every:
                said = one.communicate(timeout=2 * AGAIN_S)[1]
                stage.need(one.returncode == 0, f'round {i}: migrate: exit {one.returncode}: {said}')
            stage.need(stage.database.sql('SELECT COUNT(*) FROM schema_version WHERE version <= 0') == [('0',)],
                       f'round {i}: a migration has left something')
            stage.command('migrate', '--check')
        done = subprocess.run([run.holdfast, 'tune', '--seconds', '1', '--db', stage.url], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False, timeout=AGAIN_S)
        stage.need(done.returncode == 78 and 'cluster' in done.stderr, f'tune: {done.returncode} {done.stderr}')
        stage.say(f'{run.rounds} times three migrations at once')
        return stage.said


def mixed(run):
    """A few kills, stops and cuts in one run."""
    def act(stage, load, node, dice, i):
        acts = [kill, stop, cut, kill, stop, cut, kill] if stage.cluster.network else [kill, stop, kill, stop, kill]
        return acts[i % len(acts)](stage, load, node, dice, i // 3)
    return faults(run, act, detection=DETECTION)
