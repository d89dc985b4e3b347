"""A Galera cluster with nodes that a drill kills, freezes and cuts off, and the stage with its services.

Each node has a network namespace with a link of its own to a bridge, where that is permitted; otherwise all listen on
loopback, and nothing can be cut. A node is always started from its recovered position: started plainly after all were
killed, nodes form a cluster without any state transfer, and differ from then on.
"""
import contextlib
import ctypes
import functools
import os
import re
import shutil
import signal
import subprocess
import time

import clients
from proxy import Proxy
import patience
from patience import PATIENCE_S
from stage import SMALL_CACHES, Clock, Database, Program, Skipped, Stage, Trouble, die_with_us, free_port, wait_until

PROVIDER = '/usr/lib/galera/libgalera_smm.so'
NODES = 3
CLONE_NEWNET = 0x40000000
SYNCED_S = 9 * PATIENCE_S
# Group changes take as long as these allow: a dead node is noticed after suspect_timeout, at most.
DETECTION = 'evs.keepalive_period=PT0.5S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT6S'
NO_STATE = '00000000-0000-0000-0000-000000000000'
# Rows that processes write although nothing happens.
RESTLESS = {'process', 'log_writer', 'level_watch', 'counter', 'event_flush', 'event_log', 'location_kinds'}


def ip(*words):
    subprocess.run(['ip', *words], check=True, stdin=subprocess.DEVNULL, capture_output=True)


def as_mysql():
    """The account of the servers: rsync, as root, would write as another account."""
    return ['--user=mysql'] if os.geteuid() == 0 else []


def give(path):
    """Gives the path to the account of the servers."""
    if os.geteuid() == 0:
        subprocess.run(['chown', '-R', 'mysql:mysql', path], check=True)


def missing():
    """The first thing that this machine lacks; None: it has all."""
    if not os.path.exists(PROVIDER):
        return 'needs Galera (apt-get install galera-4 rsync)'
    return next((f'needs {program}' for program in ('mariadbd', 'rsync', 'lsof') if not shutil.which(program)), None)


@functools.cache    # once
def own_network():
    """This process, and those that it starts from now on, leave the network of the machine: a browser there would see
    each new link, and drop what it is loading."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), 'unshare')
    ip('link', 'set', 'lo', 'up')


class Network:
    """A bridge, and a namespace for each node."""

    def __init__(self, name):
        self.name = name
        self.bridge, self.net = f'hf-{name}', f'10.{64 + os.getpid() // 250 % 64}.{os.getpid() % 250}'
        self.spaces = []

    def start(self):
        """False: it is not permitted here."""
        if os.geteuid() or not shutil.which('ip') or not shutil.which('nft'):
            return False
        try:
            own_network()
            ip('link', 'add', self.bridge, 'type', 'bridge')
            ip('addr', 'add', f'{self.net}.254/24', 'dev', self.bridge)
            ip('link', 'set', self.bridge, 'up')
            for i in range(NODES):
                space, link = f'hf-{self.name}-{i}', f'hf{self.name}{i}'
                ip('netns', 'add', space)
                self.spaces.append(space)
                ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', space)
                ip('link', 'set', link, 'master', self.bridge, 'up')
                ip('-n', space, 'addr', 'add', f'{self.address(i)}/24', 'dev', 'eth0')
                ip('-n', space, 'link', 'set', 'eth0', 'up')
                ip('-n', space, 'link', 'set', 'lo', 'up')
        except (OSError, subprocess.CalledProcessError):
            self.end()
            return False
        return True

    def address(self, i):
        return f'{self.net}.{i + 1}'

    def rules(self, i, *rules):
        """Instead of those of before."""
        lines = ['table inet hf', 'delete table inet hf', 'table inet hf {',
                 'chain input { type filter hook input priority 0;',
                 *(rule for way, rule in rules if way == 'in'), '}',
                 'chain output { type filter hook output priority 0;',
                 *(rule for way, rule in rules if way == 'out'), '}', '}']
        subprocess.run(['ip', 'netns', 'exec', self.spaces[i], 'nft', '-f', '-'], input='\n'.join(lines), text=True,
                       check=True, capture_output=True)

    def others(self, i):
        return '{ ' + ', '.join(self.address(k) for k in range(NODES) if k != i) + ' }'

    def cut(self, i, ways=('in', 'out'), everybody=False):
        """Cuts node `i` off from the other nodes; with `everybody` from the services, too."""
        match = {'in': 'ip saddr', 'out': 'ip daddr'}
        self.rules(i, *((way, 'iifname "eth0" drop;' if everybody and way == 'in' else
                         'oifname "eth0" drop;' if everybody else f'{match[way]} {self.others(i)} drop;')
                        for way in ways))

    def lose(self, i, percent=5):
        self.rules(i, ('in', f'ip saddr {self.others(i)} numgen random mod 100 < {percent} drop;'))

    def heal(self, i):
        self.rules(i)

    def end(self):
        for i, space in enumerate(self.spaces):
            with contextlib.suppress(subprocess.CalledProcessError):
                ip('link', 'del', f'hf{self.name}{i}')
            with contextlib.suppress(subprocess.CalledProcessError):
                ip('netns', 'del', space)
        with contextlib.suppress(subprocess.CalledProcessError):
            ip('link', 'del', self.bridge)
        self.spaces = []


class Node(Database):
    """One of the cluster's servers. `network` None: on loopback, with ports of its own."""

    def __init__(self, cluster, number, network, ports):
        self.cluster, self.number, self.network, self.ports = cluster, number, network, ports
        self.folder, self.process = f'{cluster.folder}/n{number}', None
        self.clock = cluster.clocks[number] if cluster.clocks else None
        self.address = network.address(number) if network else '127.0.0.1'
        self.host = f'{self.address}:{ports["sql"]}'
        self.socket, self.log = f'{self.folder}/db.sock', f'{cluster.folder}/n{number}.log'
        os.makedirs(f'{self.folder}/db')
        give(self.folder)

    def words(self):
        peers = ','.join(f'{n.address}:{n.ports["group"]}' for n in self.cluster.nodes)
        options = ';'.join([f'gmcast.listen_addr=tcp://{self.address}:{self.ports["group"]}',
                            f'ist.recv_addr={self.address}:{self.ports["ist"]}', f'base_port={self.ports["group"]}',
                            'gcache.size=32M', 'repl.causal_read_timeout=PT5S', self.cluster.detection])
        return ['mariadbd', '--no-defaults', f'--datadir={self.folder}/db', f'--socket={self.socket}',
                f'--pid-file={self.folder}/db.pid', f'--tmpdir={self.folder}', f'--bind-address={self.address}',
                f'--port={self.ports["sql"]}', '--skip-name-resolve', '--skip-log-bin', '--binlog-format=ROW',
                '--innodb-log-file-size=32M', '--innodb-buffer-pool-size=64M', '--innodb-flush-log-at-trx-commit=1',
                '--innodb-use-native-aio=OFF', '--innodb-autoinc-lock-mode=2', '--max-connections=200',
                '--performance-schema=OFF', *SMALL_CACHES, '--wsrep-on=ON', f'--wsrep-provider={PROVIDER}',
                f'--wsrep-cluster-address=gcomm://{peers}', f'--wsrep-cluster-name={self.cluster.name}',
                f'--wsrep-node-name=n{self.number + 1}', f'--wsrep-node-address={self.address}',
                f'--wsrep-sst-receive-address={self.address}:{self.ports["sst"]}', '--wsrep-sst-method=rsync',
                '--wsrep-slave-threads=2', f'--wsrep-provider-options={options}', *as_mysql(), *self.cluster.options]

    def run(self, words, **how):
        inside = ['ip', 'netns', 'exec', self.network.spaces[self.number]] if self.network else []
        with open(self.log, 'ab') as log:
            process = subprocess.Popen([*inside, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       preexec_fn=die_with_us, env=self.clock and self.clock.environment(), **how)
        if self.clock:
            self.clock.processes.append(process)
        return process

    def wipe(self):
        shutil.rmtree(f'{self.folder}/db')
        os.mkdir(f'{self.folder}/db')
        give(self.folder)

    def recovered(self):
        """The node's position, UUID:SEQNO; None: it has no state yet."""
        if not os.path.exists(f'{self.folder}/db/ibdata1'):
            return None
        log = f'{self.folder}/recovery.log'
        with contextlib.suppress(FileNotFoundError):
            os.remove(log)
        if self.run([*self.words(), '--wsrep-recover', f'--log-error={log}']).wait(60):
            raise Trouble(f'n{self.number + 1} was not recovered: {log}')
        with open(log, encoding='utf-8', errors='replace') as text:
            found = re.findall(r'Recovered position: ([-0-9a-f]+:-?\d+)', text.read())
        if not found:
            raise Trouble(f'n{self.number + 1} says no recovered position: {log}')
        return found[-1]

    def start(self, first=False, position=None):
        position = position or self.recovered()
        self.process = self.run([*self.words(), *([f'--wsrep_start_position={position}'] if position else []),
                                 *(['--wsrep-new-cluster'] if first else [])])

    def sql_as_root(self, text):
        subprocess.run(['mariadb', '--no-defaults', '-uroot', f'--socket={self.socket}', '-e', text], check=True,
                       stdin=subprocess.DEVNULL)

    def status(self, name):
        """A status variable, without a wait for other nodes; '' where the node does not answer."""
        done = subprocess.run(['mariadb', '--no-defaults', '-uroot', f'--socket={self.socket}', '--connect-timeout=2',
                               '--batch', '--skip-column-names', '-e', f"SHOW GLOBAL STATUS LIKE '{name}'"],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=patience.scaled(2 * PATIENCE_S))
        return done.stdout.split('\t')[1].strip() if done.returncode == 0 and '\t' in done.stdout else ''

    def synced(self):
        if self.process.poll() is not None:
            raise Trouble(f'n{self.number + 1} ended with {self.process.returncode}: {self.log}')
        return self.status('wsrep_local_state') == '4' and self.status('wsrep_cluster_status') == 'Primary'

    def commits(self):
        done = subprocess.run(['mariadb', '--no-defaults', '-uroot', f'--socket={self.socket}', 'holdfast', '-e',
                               'UPDATE drill SET n = n + 1'], stdin=subprocess.DEVNULL, capture_output=True,
                              check=False, timeout=patience.scaled(6 * PATIENCE_S))
        return done.returncode == 0

    def wait_synced(self, size=NODES):
        """And it has joined the same history as before."""
        took = wait_until(lambda: self.synced() and int(self.status('wsrep_cluster_size') or 0) >= size, SYNCED_S,
                          f'n{self.number + 1} is synced with {size} nodes')
        state = self.status('wsrep_cluster_state_uuid')
        if state == NO_STATE or state != (self.cluster.state or state):
            raise Trouble(f'n{self.number + 1} has the state {state}, not {self.cluster.state}')
        self.cluster.state = state
        return took


class Cluster:
    """All nodes. `detection`: options by which a dead node is noticed. `ahead_s`: of each node's clock, if they differ.
    `options`: more of each server."""

    def __init__(self, folder, detection=DETECTION, ahead_s=(), options=()):
        why = missing()
        if why:
            raise Skipped(why)
        self.folder, self.detection, self.options, self.state = folder, detection, options, None
        os.chmod(folder, 0o711)
        self.clocks = [Clock(f'{folder}/clock{i}') for i in range(len(ahead_s))]
        for clock, seconds in zip(self.clocks, ahead_s):
            clock.set(seconds)
        self.name = f'{os.getpid() % 100000}'
        self.network = Network(self.name)
        if not self.network.start():
            self.network = None
        self.nodes = []
        for i in range(NODES):
            ports = {name: free_port() for name in ('sql', 'group', 'ist', 'sst')} if not self.network else \
                {'sql': 3306, 'group': 4567, 'ist': 4568, 'sst': 4444}
            self.nodes.append(Node(self, i, self.network, ports))

    def start(self, template):
        """All begin with the same files, so that none of them needs a transfer of the state."""
        if not os.path.isdir(template):
            Database.install(template)
        first = self.nodes[0]
        os.rmdir(f'{first.folder}/db')
        shutil.copytree(template, f'{first.folder}/db')
        give(first.folder)
        first.start(first=True, position=f'{NO_STATE}:-1')
        first.wait_synced(1)
        first.sql_as_root("CREATE DATABASE holdfast; CREATE USER app@'%'; GRANT ALL ON holdfast.* TO app@'%';"
                          'CREATE TABLE holdfast.drill (n BIGINT NOT NULL PRIMARY KEY) ENGINE=InnoDB;'
                          'INSERT INTO holdfast.drill VALUES (0)')
        first.signal(signal.SIGTERM)
        first.process.wait(patience.scaled(SYNCED_S))
        for node in self.nodes[1:]:
            shutil.rmtree(f'{node.folder}/db')
            shutil.copytree(f'{first.folder}/db', f'{node.folder}/db')
            give(node.folder)
        with open(f'{first.folder}/db/grastate.dat', encoding='ascii') as state:
            position = ':'.join(re.findall(r'^(?:uuid|seqno): *(\S+)', state.read(), re.MULTILINE))
        first.start(first=True, position=position)
        first.wait_synced(1)
        for node in self.nodes[1:]:
            node.start(position=position)
        for node in self.nodes:
            node.wait_synced()

    def start_again(self):
        """All are down: the one that has most begins. The position of each."""
        positions = {node: node.recovered() for node in self.nodes}
        first = max(self.nodes, key=lambda node: int(positions[node].rsplit(':', 1)[1]))
        state = f'{first.folder}/db/grastate.dat'
        with open(state, encoding='ascii') as file:
            text = file.read()
        with open(state, 'w', encoding='ascii') as file:
            file.write(text.replace('safe_to_bootstrap: 0', 'safe_to_bootstrap: 1'))
        first.start(first=True, position=positions[first])
        first.wait_synced(1)
        for node in self.nodes:
            if node is not first:
                node.start(position=positions[node])
        for node in self.nodes:
            node.wait_synced()
        return {f'n{node.number + 1}': position.rsplit(':', 1)[1] for node, position in positions.items()}

    def differences(self):
        """Tables that the nodes do not agree on, while no program writes."""
        wait_until(lambda: len({node.status('wsrep_last_committed') for node in self.nodes}) == 1, SYNCED_S,
                   'all nodes have applied the same')
        tables = [name for name, in self.nodes[0].sql('SHOW TABLES') if name not in RESTLESS]
        query = 'CHECKSUM TABLE ' + ', '.join(f'`{name}`' for name in tables)
        found = [dict(node.sql(query)) for node in self.nodes]
        return [name for name in found[0] if len({one[name] for one in found}) > 1]

    def end(self):
        for thing in (*self.nodes, *self.clocks):
            thing.end()
        if self.network:
            self.network.end()


class ClusterStage(Stage):
    """Three nodes, and services that have all of them in --db, each with another one to begin with. between: a Proxy
    stands before each node."""

    def __init__(self, run, between=False, **how):
        self.run, self.program, self.folder = run, run.holdfast, run.folder
        self.things, self.services, self.said, self.unknown_outcomes = [], [], [], 0
        self.cluster = Cluster(run.folder, **how)
        self.database = self.cluster.nodes[0]
        self.journal = clients.Journal(f'{run.folder}/journal.jsonl')
        self.between = [Proxy(node.socket) for node in self.cluster.nodes] if between else []
        self.things += self.between
        hosts = [f'127.0.0.1:{one.port}' for one in self.between] or [node.host for node in self.cluster.nodes]
        self.url = f'mariadb://app@{",".join(hosts)}/holdfast'

    def __enter__(self):
        try:
            self.things.append(self.cluster)
            began = time.monotonic()
            self.cluster.start(self.run.template)
            self.command('migrate')
            self.say(f'{NODES} nodes in {time.monotonic() - began:.0f} s, '
                     + ('each in a network namespace' if self.cluster.network else
                        'on loopback: network namespaces are not permitted here, nothing was cut'))
        except BaseException:
            self.__exit__()
            raise
        return self

    def serve_all(self, *options, spread=True):
        for i in range(NODES):
            self.serve(*options, name=f'serve{i}', db=f'{self.url}?start={i + 1}' if spread else self.url)

    def beside(self, name, *words, start=1):
        """start: the number of the host that it begins with."""
        url, self.url = self.url, f'{self.url}?start={start}'
        try:
            return super().beside(name, *words)
        finally:
            self.url = url

    def verify(self, purged=False):
        super().verify(purged)
        self.agree()

    def agree(self):
        """The services end, and whatever runs beside them: it renews its leases. Then all nodes have the same."""
        for thing in self.things:
            if isinstance(thing, Program) and thing.process and thing.alive():
                thing.terminate()
        different = self.cluster.differences()
        self.need(not different, f'the nodes do not agree on {", ".join(different)}')
        self.services = []
