/* now.js - the page with the present figures, and with what is wrong. */
import {
  ago,
  capital,
  code,
  facts,
  field,
  fullTime,
  h,
  link,
  many,
  now,
  number,
  put,
  said,
  section,
  span,
  stateWord,
  tableOf,
  tell,
  time,
} from './dom.js'
import {get, session, unread} from './api.js'

const SECONDS = 3600,
  TEN_MINUTES = 600,
  LEASE_LATE_MS = 15000,
  DUE_LATE_S = 60

/* ---- the plots */

const PLOTS = [
  [
    'Orders',
    [
      {key: 'granted', label: 'granted', unit: '/s'},
      {key: 'refused', label: 'refused', unit: '/s', colour: 3},
    ],
  ],
  [
    'Time to answer an order',
    [
      {key: 'p50_ms', label: 'half within', unit: 'ms'},
      {key: 'p99_ms', label: '99 % within', unit: 'ms'},
    ],
  ],
  [
    'Requests',
    [
      {key: 'answered', label: 'answered', unit: '/s'},
      {key: 'busy', label: 'busy', unit: '/s', colour: 3},
    ],
  ],
  [
    'Queue',
    [
      {key: 'queue', label: 'at most'},
      {key: 'batches', label: 'batches', unit: '/s'},
    ],
  ],
  [
    'Shipped and delivered',
    [
      {key: 'settled', label: 'shipped', unit: '/s'},
      {key: 'delivered', label: 'events delivered', unit: '/s'},
    ],
  ],
  ['Oldest that is due', [{key: 'oldest_due_s', label: 'waits for', unit: 's', gaps: true, steps: true}], 'database'],
  ['Failed orders', [{key: 'buried', label: 'orders', gaps: true, steps: true, colour: 3}], 'database'],
  ['Open tasks', [{key: 'tasks', label: 'tasks', gaps: true, steps: true}], 'database'],
  [
    'Events not delivered',
    [{key: 'undelivered', label: 'the oldest waits for', unit: 's', gaps: true, steps: true}],
    'database',
  ],
]

/* The last hour of one process, as far as this tab has asked: the service has ten minutes. It begins again when another
 * process answers, or when more than ten minutes are missing. */
class Activity {
  constructor() {
    this.clear()
  }

  clear() {
    this.instance = this.since = null
    this.times = []
    this.series = {}
    this.codes = {}
  }

  take({now, instance, since, series}) {
    const gap = this.times.length > 0 && Date.parse(since) / 1000 > this.times.at(-1) + 1
    if (instance !== this.instance || gap || Date.parse(since) > Date.parse(this.since)) this.clear()
    this.instance = instance
    this.since = now
    const from = Date.parse(since) / 1000,
      count = series.answered.length
    const before = this.times.filter(t => t < from).length
    const grow = (old, more) => [...(old ?? Array(before).fill(null)).slice(0, before), ...more].slice(-SECONDS)
    const {refused, ...rest} = series
    const all = Array.from({length: count}, (_, i) => {
      const one = Object.values(refused).map(n => n[i])
      return series.answered[i] == null ? null : one.reduce((a, b) => a + (b ?? 0), 0)
    })
    for (const [name, values] of Object.entries({...rest, refused: all}))
      this.series[name] = grow(this.series[name], values)
    for (const name of new Set([...Object.keys(this.codes), ...Object.keys(refused)])) {
      this.codes[name] = grow(this.codes[name], refused[name] ?? Array(count).fill(0))
      if (!this.codes[name].some(n => n > 0)) delete this.codes[name]
    }
    this.times = grow(
      this.times,
      Array.from({length: count}, (_, i) => from + i),
    )
  }
}

const activity = new Activity() /* stays while other pages are shown */

function byMinute(from) {
  const minutes = new Map()
  activity.times.forEach((t, i) => {
    if (i < from) return
    const minute = Math.floor(t / 60) * 60
    const row = minutes.get(minute) ?? {granted: 0, refused: 0, answered: 0, settled: 0, p99_ms: 0}
    for (const name of ['granted', 'refused', 'answered', 'settled']) row[name] += activity.series[name][i] ?? 0
    row.p99_ms = Math.max(row.p99_ms, activity.series.p99_ms[i] ?? 0)
    minutes.set(minute, row)
  })
  return [...minutes].reverse()
}

const minutesTable = (from, title) =>
  tableOf(
    ['from', 'granted', 'refused', 'requests', 'shipped', 'slowest 99 % (ms)'],
    byMinute(from).map(([minute, row]) => [
      fullTime(minute * 1000).slice(0, 16),
      ...[row.granted, row.refused, row.answered, row.settled, row.p99_ms],
    ]),
    `${title}, by the minute`,
  )

/* ---- what is wrong */

const wrong = (key, what, then, more) => ({key, what, then, more})

function ofReady(result) {
  const checks = result.data.checks ?? []
  return [
    result.status === 0 &&
      wrong('away', 'The service does not answer.', 'Is the process there? Its log says why it ended.'),
    result.status === 503 &&
      wrong(
        'ready',
        said(result.data.detail ?? 'The service is not ready.'),
        'Calls are answered 503 and can be sent again. Look at the database, and at the log of the service.',
      ),
    ...checks
      .filter(c => c.status !== 'ok' && c.name !== 'database')
      .map(c =>
        wrong(
          'check ' + c.name + c.detail,
          [c.name, ': ', said(c.detail ?? 'failed')],
          c.name === 'setting'
            ? 'Mend the setting of the database server.'
            : 'Look at the node of the cluster that is behind.',
        ),
      ),
  ]
}

/* A job counts a webhook as ready only after a first delivery. Before that, the age of its cursor shows that events
 * wait. */
export function ofJobs(jobs, stats, webhooks = []) {
  const due = {settle: stats?.oldest_confirmed_ms, expire: stats?.oldest_expired_ms}
  const late = webhooks.filter(w => w.state === 'active' && w.cursor_age_s > DUE_LATE_S).length
  const undelivered = job => Math.max(job.ready, late)
  return jobs.flatMap(job => [
    job.paused &&
      wrong(
        'paused ' + job.job,
        [`The job ${job.job} is paused`, job.reason ? [': ', said(job.reason)] : '.'],
        [
          job.since ? `Since ${fullTime(job.since)}` : '',
          job.by ? [', by ', code(job.by)] : '',
          '. Resume it when it may go on.',
        ],
        '#/jobs',
      ),
    !job.paused &&
      job.ready > 0 &&
      job.open === 0 &&
      !job.workers.length &&
      (due[job.job] ?? 0) > DUE_LATE_S * 1000 &&
      wrong(
        'no process ' + job.job,
        `No process runs the job ${job.job}: ${job.ready >= 10000 ? '10,000 or more' : many(job.ready, 'order')} ` +
          `${job.ready === 1 ? 'waits' : 'wait'}, the oldest for ${span(due[job.job] / 1000)}.`,
        [
          'Start ',
          h('code', null, `holdfast work ${job.job}`),
          ' or ',
          h('code', null, `serve --jobs=${job.job}`),
          '.',
        ],
        '#/jobs',
      ),
    !job.paused &&
      job.job === 'deliver' &&
      undelivered(job) > 0 &&
      job.open === 0 &&
      wrong(
        'no process deliver',
        `No process delivers events: ${many(undelivered(job), 'webhook')} ` +
          `${undelivered(job) === 1 ? 'waits' : 'wait'}.`,
        ['Start ', h('code', null, 'holdfast work deliver'), ' or ', h('code', null, 'serve --jobs=deliver'), '.'],
        '#/jobs',
      ),
  ])
}

function ofStats(stats) {
  return [
    stats.buried > 0 &&
      wrong(
        'buried',
        `${many(stats.buried, 'order has', 'orders have')} failed: shipping is not tried again.`,
        'Mend what the errors name, then kick or release them.',
        '#/jobs',
      ),
    stats.orders_ahead > 0 &&
      wrong(
        'ahead',
        `${many(stats.orders_ahead, 'order is', 'orders are')} of a later time than the database has.`,
        'Its clock was set back. They wait until it has come up again.',
      ),
  ]
}

/* Open tasks with a lease that ran out, among the last tasks. */
export function ofTasks(tasks) {
  return tasks
    .filter(t => t.state === 'open' && now() - Date.parse(t.lease_until) > LEASE_LATE_MS)
    .map(t =>
      wrong(
        'lease ' + t.task_id,
        [
          'The lease of task ',
          String(t.task_id),
          ' ran out ',
          ago(t.lease_until),
          ': ',
          code(t.worker),
          ' has ',
          many(t.claimed - t.completed - t.failed, 'order'),
          ' of it.',
        ],
        [
          'Its worker may be dead. ',
          h('code', null, 'serve --jobs=reap'),
          ' or ',
          h('code', null, 'holdfast reap'),
          ' gives them to others.',
        ],
        '#/jobs',
      ),
    )
}

function ofWebhooks(webhooks) {
  return webhooks.map(w =>
    w.state === 'off'
      ? wrong(
          'off ' + w.webhook_id,
          ['The webhook ', code(w.webhook_id), ' is off: ', w.reason ?? '', '.'],
          'Mend its receiver, then enable it: it goes on where it stood.',
          '#/events',
        )
      : w.failures > 0 &&
        wrong(
          'fails ' + w.webhook_id,
          [
            'The webhook ',
            code(w.webhook_id),
            ' fails: ',
            w.last_error ? said(w.last_error) : `status ${w.last_status}`,
            '.',
          ],
          `${many(w.failures, 'attempt')} in a row failed` +
            (w.failing_since ? `, since ${fullTime(w.failing_since)}.` : '.'),
          '#/events',
        ),
  )
}

/* Each call is made by itself: if one fails, the page says so and shows the others. */
async function whatIsWrong(signal) {
  const ask = at => get(at, {signal})
  const [ready, jobs, stats, tasks, webhooks] = await Promise.all([
    ask('/readyz?verbose'),
    ask('jobs'),
    ask('stats'),
    ask('tasks?limit=200'),
    session.roles.includes('admin') ? ask('webhooks?limit=100') : null,
  ])
  const all = [
    ...ofReady(ready),
    ...(jobs.ok ? ofJobs(jobs.data.items, stats.ok ? stats.data : null, webhooks?.ok ? webhooks.data.items : []) : []),
    ...(stats.ok ? ofStats(stats.data) : []),
    ...(tasks.ok ? ofTasks(tasks.data.items) : []),
    ...(webhooks?.ok ? ofWebhooks(webhooks.data.items) : []),
  ].filter(Boolean)
  if (ready.status !== 0 && ready.status !== 503)
    for (const [name, result] of [
      ['The jobs', jobs],
      ['The counts of the database', stats],
      ['The tasks', tasks],
      ['The webhooks', webhooks],
    ])
      if (result && !result.ok)
        all.push(wrong('unread ' + name, `${name} could not be read (${result.code}).`, 'This page asks again.'))
  return {ready, stats, all}
}

function wrongList(all) {
  if (!all.length) return h('p', {class: 'well'}, 'Nothing is wrong.')
  return h(
    'ul',
    {class: 'wrong'},
    all.map(w =>
      h(
        'li',
        null,
        h('strong', null, w.what),
        ' ',
        h('span', null, w.then),
        w.more && document.querySelector(`#nav a[href='${w.more}']`) && [' ', link(w.more, 'Look there')],
      ),
    ),
  )
}

/* ---- the totals */

function totals(stats) {
  const part = (title, rows) => section(title, facts(rows))
  return h(
    'div',
    {class: 'columns'},
    part('Units, all places', [
      ['Skus', number(stats.skus)],
      ['Locations', number(stats.locations)],
      ['Available, for sale or not', number(stats.available)],
      ['Reserved', number(stats.reserved)],
      ['Aside', number(stats.aside)],
      ['On hand', number(stats.on_hand)],
      ['Incoming', number(stats.incoming)],
      ['Incoming, reserved', number(stats.incoming_reserved)],
    ]),
    part(
      'Orders',
      ['held', 'confirmed', 'settled', 'released', 'expired', 'buried'].map(state => [
        h('a', {href: '#/orders?state=' + state}, capital(stateWord(state))),
        number(stats[state]),
      ]),
    ),
    part('Work', [
      ['Ready to ship', number(stats.ready)],
      ['Ready to expire', number(stats.ready_to_expire)],
      ['Open tasks', number(stats.tasks_open)],
      ['Kept events', number(stats.event_rows)],
      ['Oldest event', span(stats.oldest_event_ms / 1000)],
    ]),
  )
}

export async function show({room, poll, signal}) {
  const top = h('section', {'aria-label': 'What is wrong', class: 'top'}, h('p', {class: 'muted'}, 'Looking …'))
  const of_process = h('p', {class: 'muted'}),
    failed = h('div'),
    counts = h('div'),
    counted = h('p', {class: 'muted'})
  const places = PLOTS.map(() => h('div', {class: 'plot later'}))
  const codes = h('div', {class: 'refusals'})
  let plots = null,
    refusals = null,
    refusal_codes = ''
  const which = field('Show', {
    options: [
      ['', 'ten minutes'],
      ['hour', 'an hour'],
    ],
  })
  const title = h('h2'),
    summary = h('summary'),
    minutes = h('details', null, summary, h('div'))
  /* The service has ten minutes; of an hour there is what this tab has gathered. */
  const length = () => (which.value ? SECONDS : TEN_MINUTES),
    last = values => values.slice(-length()),
    words = () => (which.value ? 'the last hour' : 'the last ten minutes')
  const tellWords = () => {
    tell(title, `This service, ${words()}`)
    tell(summary, `The ${words().slice(4)} as a table`)
  }
  const own = places.filter((_, i) => PLOTS[i][2] !== 'database'),
    shared = places.filter((_, i) => PLOTS[i][2] === 'database')

  room.append(
    top,
    h(
      'section',
      null,
      h('div', {class: 'bar'}, title, h('div', {class: 'push'}, which.element)),
      of_process,
      failed,
      h('div', {class: 'plots'}, own, codes),
      minutes,
    ),
    section('The database', h('div', {class: 'plots four'}, shared), counted, counts),
  )

  /* A plot of refusals has the codes that occurred: with another code it is made again. */
  const showCodes = () => {
    const names = Object.keys(activity.codes).sort().slice(0, plots.COLOURS.length)
    if (names.join() !== refusal_codes || !refusals) {
      refusals?.end()
      refusal_codes = names.join()
      refusals = names.length
        ? new plots.Plot(
            'Refused, by code',
            names.map(label => ({label, unit: '/s'})),
            {signal, seconds: true},
          )
        : null
      put(codes)
      if (refusals) codes.replaceChildren(refusals.element)
      else
        put(
          codes,
          h(
            'figure',
            {class: 'plot'},
            h('figcaption', null, h('span', {class: 'title'}, 'Refused, by code')),
            h('p', {class: 'muted'}, 'No order was refused in the last ten minutes.'),
          ),
        )
    }
    refusals?.show([activity.times, ...names.map(n => activity.codes[n])].map(last))
  }

  const tables = () => {
    const from = Math.max(0, activity.times.length - length())
    if (minutes.open) put(minutes.lastChild, minutesTable(from, summary.textContent))
  }
  const draw = () => {
    if (!plots || !activity.times.length) return
    put(
      of_process,
      'Figures of the process that answers, instance ',
      code(activity.instance),
      ', second by second',
      which.value && activity.times.length < SECONDS && [', since ', fullTime(activity.times[0] * 1000)],
      '.',
    )
    PLOTS.forEach(([, series], i) =>
      plots.all[i].show([activity.times, ...series.map(s => activity.series[s.key])].map(last)),
    )
    showCodes()
    tables()
  }
  tellWords()
  which.input.addEventListener('change', () => {
    tellWords()
    draw()
  })
  poll(async signal => {
    const {ready, stats, all} = await whatIsWrong(signal)
    put(top, wrongList(all))
    if (stats.ok) {
      put(counts, totals(stats.data))
      put(counted, 'Counted ', time(stats.data.counted_at), ', over all services of this database.')
    }
    return ready.status === 503 || ready.status === 0 ? ready : stats
  }, 5)

  poll(async signal => {
    const since = activity.since ? '?since=' + encodeURIComponent(activity.since) : ''
    const result = await get('activity' + since, {signal})
    if (!result.ok) {
      put(failed, unread(result))
      return result
    }
    put(failed)
    activity.take(result.data)
    draw()
    return result
  }, 2)
  minutes.addEventListener('toggle', tables)

  /* What can be said in words comes first. */
  const {COLOURS, Plot} = await import('./plots.js')
  if (signal.aborted) return
  plots = {COLOURS, Plot, all: PLOTS.map(([title, series]) => new Plot(title, series, {signal, seconds: true}))}
  plots.all.forEach((plot, i) => places[i].replaceWith(plot.element))
  draw()
}
