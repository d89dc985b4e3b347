"""A drill for a replica that stands by: the primary dies under load, the replica is promoted as docs/cluster.md has it,
and the journal says what of the acknowledged is missing there. In the first round and every second one the primary
waits for its replica before it acknowledges a commit (semi-synchronous): then nothing may be missing. In the others the
replica has been cut off for up to a second."""
import json
import os
import random
import subprocess
import time
import types

from patience import PATIENCE_S
from stage import Database, Stage, Trouble, free_port, wait_until

COPIED_S, LAG_S, ACKNOWLEDGED = 3 * PATIENCE_S, 1, (200, 201)
# The statements that an operator types, as docs/cluster.md shows them.
FOLLOW = ("CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = 'replica',"
          " MASTER_PASSWORD = 'secret', MASTER_USE_GTID = slave_pos; START SLAVE")
PROMOTE = 'STOP SLAVE; RESET SLAVE ALL; SET GLOBAL read_only = 0'
SEMI_SYNC = ['--rpl-semi-sync-slave-enabled=1', '--rpl-semi-sync-master-wait-point=AFTER_SYNC',
             '--rpl-semi-sync-master-timeout=60000']


class Node(Database):
    """One of two servers, with a binary log and a port."""

    def __init__(self, run, number, semi):
        folder = f'{run.folder}/{number}'
        os.mkdir(folder)
        super().__init__(folder, run.template)
        self.number, self.port = number, free_port()
        self.options = [f'--server-id={number}', '--log-bin=log', '--skip-skip-networking', '--bind-address=127.0.0.1',
                        f'--port={self.port}', '--sync-binlog=1', '--gtid-strict-mode=1', '--log-slave-updates=1',
                        *(SEMI_SYNC if semi else [])]

    def run(self, text):
        """Statements without a database."""
        done = subprocess.run(['mariadb', '--no-defaults', '-uroot', f'--socket={self.socket}', '-E', '-e', text],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Trouble(f'{text[:60]}..: {done.stderr.strip()}')
        return done.stdout

    def follows(self):
        state = self.run('SHOW SLAVE STATUS')
        return 'Slave_IO_Running: Yes' in state and 'Slave_SQL_Running: Yes' in state

    def has_read_all(self):
        """True: all that has come is applied; nothing more comes."""
        return 'Slave has read all relay log' in self.run('SHOW SLAVE STATUS')


class Pair(Stage):
    """A primary with the service, and a replica."""

    def __init__(self, run, semi):
        self.semi = semi
        super().__init__(run, database=Node(run, 1, semi))
        self.replica = Node(run, 2, semi)

    def __enter__(self):
        self.things.append(self.replica)
        self.replica.start()
        super().__enter__()
        wait_until(self.replica.answers, COPIED_S, 'the replica answers')
        self.database.run("CREATE USER replica@'127.0.0.1' IDENTIFIED BY 'secret';"
                          " GRANT REPLICATION SLAVE ON *.* TO replica@'127.0.0.1'")
        if self.semi:
            self.database.run('SET GLOBAL rpl_semi_sync_master_enabled = 1')
        self.replica.run('SET GLOBAL read_only = 1; ' + FOLLOW.format(port=self.database.port))
        wait_until(self.followed, COPIED_S, 'the replica follows')
        return self

    def followed(self):
        """By a replica that commits wait for, where they are to."""
        state = self.database.run("SHOW STATUS LIKE 'Rpl_semi_sync_master_clients'")
        return self.replica.follows() and (not self.semi or 'Value: 1' in state)

    def promote(self):
        wait_until(self.replica.has_read_all, COPIED_S, 'the replica has applied what came')
        self.replica.run(PROMOTE)
        self.url = self.url.replace(self.database.socket, self.replica.socket)


def acknowledged(journal_path):
    """Ids of orders that were acknowledged, in the order of the answers."""
    with open(journal_path, encoding='utf-8') as journal:
        entries = [json.loads(text) for text in journal]
    return [entry['id'] for entry in entries if entry['call'] in ('reserve', 'split') and entry['status'] in ACKNOWLEDGED]


def lose_primary(run, semi, dice):
    """(orders that were acknowledged, those of them that the replica has not)."""
    with Pair(run, semi) as pair:
        service = pair.serve('--lanes', '2', '--jobs=expire,settle')
        with pair.load(clients=32) as load:
            pair.progress(load, 400, 3 * PATIENCE_S, 'no progress')
            if not semi:
                pair.replica.run('STOP SLAVE IO_THREAD')
            time.sleep(dice.random() * LAG_S)
            pair.database.kill()
            service.kill()
        pair.promote()
        pair.serve('--lanes', '2', name='serve-again')
        pair.command('audit')
        pair.journal.file.flush()
        told = acknowledged(pair.journal.path)
        there = {id_ for (id_,) in pair.replica.sql('SELECT order_id FROM reservation')}
        return len(told), len([id_ for id_ in told if id_ not in there])


def replica(run):
    """The primary is lost for good."""
    dice, lost = random.Random(run.seed), {False: [], True: []}
    for i in range(run.rounds):
        folder = f'{run.folder}/round{i}'
        os.mkdir(folder)
        semi = i % 2 == 0
        lost[semi].append(lose_primary(types.SimpleNamespace(**{**vars(run), 'folder': folder}), semi, dice))
    said = []
    for semi, rounds in lost.items():
        missing = [count for _, count in rounds]
        said.append(f'{len(rounds)} primaries lost, {"commits wait for the replica" if semi else f"the replica is up to {LAG_S} s behind"}: '
                    f'{sum(missing)} of {sum(told for told, _ in rounds):,} acknowledged orders are missing, '
                    f'{max(missing, default=0)} at most; every invariant holds')
        if semi and any(missing):
            raise Trouble('\n'.join(said))
    return said
