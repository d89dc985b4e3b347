"""The soak: everything at once for a long time, and the process stays as small as it was."""
import collections
import os
import time

from stage import Stage

SAMPLES = 10            # at least so many rows in the table
WARM = 0.25             # of the time, in which caches fill
RSS_MORE_KIB = 8 << 10  # a process may grow by so much after that, and ..
RSS_MORE_SHARE = 0.05   # .. this share of what it had
DESCRIPTORS_MORE = 4    # one that is just being opened is none that leaks

Sample = collections.namedtuple('Sample', 'at rss_kib descriptors threads calls rows')


def sample(stage, pid, began):
    with open(f'/proc/{pid}/status', encoding='ascii', errors='replace') as file:
        fields = dict(line.split(':', 1) for line in file)
    return Sample(time.monotonic() - began, int(fields['VmRSS'].split()[0]), len(os.listdir(f'/proc/{pid}/fd')),
                  int(fields['Threads']), stage.journal.counts['calls'],
                  int(stage.database.sql('SELECT COUNT(*) FROM reservation')[0][0]))


def show(s):
    print(f'    {s.at:>6.0f} {s.rss_kib:>9} {s.descriptors:>12} {s.threads:>8} {s.calls:>10,} {s.rows:>9,}', flush=True)


def growth(samples, seconds):
    """The figures that grew more than they may, from the end of the warm part to the end; the median of three, against
    chance."""
    def middle(some, name):
        return sorted(getattr(s, name) for s in some)[len(some) // 2]

    warm = [s for s in samples if s.at >= WARM * seconds]
    first, last = warm[:3], warm[-3:]
    bounds = {'rss_kib': RSS_MORE_KIB + int(RSS_MORE_SHARE * middle(first, 'rss_kib')),
              'descriptors': DESCRIPTORS_MORE, 'threads': 0}
    for name, more in bounds.items():
        if middle(last, name) > middle(first, name) + more:
            yield f'{name} grew from {middle(first, name)} to {middle(last, name)}, {more} more are allowed'


def soak(run):
    """Orders, expiry, settlement, reaper and purge."""
    with Stage(run) as stage:
        service = stage.serve('--lanes', '2', '--jobs=expire,settle,reap')
        pause_s = min(60, run.seconds / SAMPLES)
        samples, began = [], time.monotonic()
        print(f'    {"s":>6} {"RSS KiB":>9} {"descriptors":>12} {"threads":>8} {"calls":>10} {"rows":>9}', flush=True)
        with stage.load(expire=0.2, pause_s=0.005, repeats=False):
            while time.monotonic() < began + run.seconds:
                time.sleep(pause_s)
                stage.command('purge', '--keep', '0')
                samples.append(sample(stage, service.process.pid, began))
                show(samples[-1])
        stage.verify(purged=True)
        stage.say('the audit holds')
        wrong = list(growth(samples, run.seconds))
        stage.need(not wrong, '\n'.join(wrong))
        return stage.said
