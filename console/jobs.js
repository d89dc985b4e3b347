/* jobs.js - jobs, tasks, and failed orders by their error. */
import {Table, are, button, code, commas, h, many, now, number, put, said, span, state, time, units} from './dom.js'
import {call, may, query} from './api.js'
import {announce, ask, asking, field, unread} from './ask.js'
import {csv, saveCsv} from './export.js'
import {List} from './list.js'
import {unitsOf} from './orders.js'

const RELEASED_AT_ONCE = 500,
  GATHERED_MAX = 10000
const WHAT = {
  settle: 'orders leave the stock',
  expire: 'holds that are over give their units back',
  deliver: 'events go to webhooks',
}
const OF = {settle: 'order', expire: 'order', deliver: 'webhook'}

/* ---- jobs */

function pause(job, again) {
  const reason = field('Reason', {maxlength: 500, hint: 'The page Now shows it while the job is paused.'})
  return ask({
    title: `Pause ${job.job}`,
    fields: [reason.element],
    danger: true,
    say: () => ({
      what: [
        `No worker gets work of ${job.job} any more, on all services of this database: `,
        h('b', null, many(job.ready, OF[job.job])),
        job.ready >= 10000 ? ' or more' : '',
        job.ready === 1 ? ' waits.' : ' wait.',
        ' What is under way ends.',
      ],
      act: `Pause ${job.job}`,
    }),
    send: () => call('PUT', 'jobs/' + job.job, {paused: true, ...(reason.value && {reason: reason.value})}),
    done: () => `The job ${job.job} is paused.`,
  }).then(again)
}
function resume(job, again) {
  return ask({
    title: `Resume ${job.job}`,
    say: () => ({
      what: [h('b', null, many(job.ready, OF[job.job])), job.ready >= 10000 ? ' or more' : '', ' can go on.'],
      act: `Resume ${job.job}`,
    }),
    send: () => call('PUT', 'jobs/' + job.job, {paused: false}),
    done: () => `The job ${job.job} goes on.`,
  }).then(again)
}

/* change(job) -> the button that pauses or resumes it. */
const jobColumns = change => [
  {head: 'job', cell: j => j.job},
  {
    head: 'state',
    cell: j =>
      j.paused
        ? state('paused')
        : j.workers.length || j.open
          ? state('running')
          : j.ready
            ? state('waiting', {})
            : state('idle'),
  },
  {head: 'ready', number: true, cell: j => number(j.ready) + (j.ready >= 10000 ? ' or more' : '')},
  {head: 'under way', number: true, cell: j => number(j.open)},
  {
    head: 'workers',
    cell: j => commas(j.workers, w => [code(w.worker), w.tasks > 1 && ` (${many(w.tasks, 'task')})`]),
  },
  {
    head: '',
    wide: true,
    cell: j =>
      j.paused
        ? [j.reason && [said(j.reason), ' · '], j.since && ['since ', time(j.since)], j.by && [', by ', code(j.by)]]
        : h('span', {class: 'muted'}, WHAT[j.job]),
  },
  ...(may() ? [{head: '', act: true, cell: change}] : []),
]

/* ---- tasks */

const isLate = t => t.state === 'open' && Date.parse(t.lease_until) < now()
const TASKS = [
  {head: 'task', number: true, cell: t => String(t.task_id)},
  {head: 'kind', cell: t => t.kind},
  {head: 'worker', cell: t => code(t.worker)},
  {head: 'state', live: true, cell: t => (isLate(t) ? state('late') : state(t.state))},
  {head: 'orders', number: true, cell: t => number(t.claimed)},
  {head: 'completed', number: true, cell: t => number(t.completed)},
  {head: 'failed', number: true, cell: t => number(t.failed)},
  {
    head: 'lease',
    live: true,
    cell: t =>
      t.state !== 'open'
        ? ''
        : isLate(t)
          ? `ended ${span((now() - Date.parse(t.lease_until)) / 1000)} ago`
          : ['until ', time(t.lease_until)],
  },
  {head: 'claimed', cell: t => time(t.created_at)},
]

/* ---- failed orders, which the service calls buried */

/* All groups: the service counts 10,000 orders a page, and the pages are added up. */
async function groups(page, told) {
  const sums = new Map()
  let cursor = null,
    counted = 0,
    other = 0
  do {
    const result = await page.get('buried' + query({cursor}))
    if (!result.ok) return result
    counted += result.data.counted
    other += result.data.other
    for (const {error, orders, oldest} of result.data.items) {
      const sum = sums.get(error) ?? {error, orders: 0, oldest}
      sum.orders += orders
      sums.set(error, sum)
    }
    cursor = result.data.next_cursor
    told({items: [...sums.values()].sort((a, b) => b.orders - a.orders), counted, other, more: cursor != null})
  } while (cursor)
  return {ok: true}
}

const named = error => (error == null ? ' without an error' : [' with the error “', said(error), '”'])

/* Kicks page by page. After a failed call the next try goes on from the same page. */
function kickAll(group, again) {
  let cursor = null,
    kicked = 0
  const n = many(group.orders, 'order')
  return ask({
    title: group.all ? 'Kick all failed orders' : 'Kick failed orders',
    say: () => ({
      what: [
        h('b', null, n),
        group.all ? '' : named(group.error),
        group.orders === 1 ? ' goes' : ' go',
        ' back to the workers. Their units stay promised.',
      ],
      act: `Kick ${n}`,
    }),
    send: async tell => {
      for (;;) {
        const result = await call('POST', 'kicks', {
          ...(group.all ? {} : {error: group.error}),
          ...(cursor && {cursor}),
        })
        if (!result.ok) return result
        kicked += result.data.kicked
        cursor = result.data.cursor ?? null
        tell(`${number(kicked)} kicked …`)
        if (!result.data.more) return result
      }
    },
    done: () => `${many(kicked, 'order')} went back to the workers.`,
  }).then(again)
}

/* Gathers the orders before it releases them, so that the question can name their units. */
async function releaseAll(group, page, again) {
  let ids = [],
    sum = 0,
    cursor = null,
    ready = false,
    failed = null,
    done_to = 0,
    released = 0
  const bar = h('progress', {max: Math.min(group.orders, GATHERED_MAX), value: 0, 'aria-label': 'Orders looked at'}),
    room = h('div', null, bar)
  const gather = async () => {
    do {
      const result = await page.get(
        'reservations' + query({state: 'buried', error: group.all ? null : group.error, limit: 1000, cursor}),
      )
      if (!result.ok) {
        failed = result
        break
      }
      for (const o of result.data.items)
        if (group.all || (o.last_error ?? null) === group.error) {
          ids.push(o.order_id)
          sum += unitsOf(o)
        }
      cursor = result.data.next_cursor
      bar.value = ids.length
    } while (cursor && ids.length < GATHERED_MAX)
    ready = true
    room.dispatchEvent(new Event('refresh', {bubbles: true}))
  }
  const asked = ask({
    title: group.all ? 'Release all failed orders' : 'Release failed orders',
    body: [room],
    danger: true,
    say: () =>
      failed
        ? {missing: unread(failed)}
        : !ready
          ? {missing: 'Counting their units …'}
          : !ids.length
            ? {missing: 'There are none any more.'}
            : {
                what: [
                  h('b', null, many(ids.length, 'order')),
                  group.all ? '' : named(group.error),
                  ': ',
                  h('b', null, units(sum)),
                  ids.length === 1 ? ' of it' : ' of them',
                  are(sum, ' goes back.', ' go back.'),
                  cursor && ` More remain: ${number(GATHERED_MAX)} are released at a time.`,
                ],
                act: `Release ${units(sum)} of ${many(ids.length, 'order')}`,
              },
    send: async tell => {
      bar.max = ids.length
      for (; done_to < ids.length; done_to += RELEASED_AT_ONCE) {
        bar.value = done_to
        tell(`${number(done_to)} of ${number(ids.length)} …`)
        const result = await call('POST', 'releases', {order_ids: ids.slice(done_to, done_to + RELEASED_AT_ONCE)})
        if (!result.ok) return result
        released += result.data.results.filter(r => r.status === 200).length
      }
      return {ok: true, data: {}}
    },
    done: () =>
      `${many(released, 'order is', 'orders are')} released.` +
      (released < ids.length
        ? ` ${many(ids.length - released, 'was', 'were')} not among the failed ones any more, or could not be.`
        : ''),
  })
  gather().catch(() => {})
  await asked
  again()
}

/* kick(group) -> the button that kicks it. */
const buriedColumns = (page, kick, again) => [
  {head: 'last error', wide: true, cell: g => (g.error == null ? h('span', {class: 'muted'}, 'none') : said(g.error))},
  {head: 'orders', number: true, cell: g => number(g.orders)},
  {head: 'oldest', cell: g => time(g.oldest)},
  {
    head: '',
    act: true,
    cell: g => [
      h('a', {href: '#/orders' + query({state: 'buried', error: g.error})}, 'Orders'),
      ' ',
      may('order', 'worker') && [kick(g), ' '],
      may('order') && button('Release', () => releaseAll(g, page, again), {class: 'apart'}),
    ],
  },
]

function buried(page) {
  const wrong = h('div'),
    said_ = h('p', {class: 'none'}, 'Looking …'),
    all = h('div', {class: 'buttons'})
  let poll = null,
    known = {items: [], counted: 0, other: 0}
  const again = () => poll.now()
  const none = of => announce('No failed order is left', of ?? '', '.')
  /* A group that is no longer among the listed ones is kicked as it was shown, if some groups are not listed. */
  const kick = ({error, ...shown}) =>
    asking(page, 'Kick', read, () => {
      const group = known.items.find(g => g.error === error) ?? (known.other ? {error, ...shown} : null)
      return group ? kickAll(group, again) : none(named(error))
    })
  const every = () => ({all: true, orders: known.counted})
  const table = new Table('Failed orders by their last error', buriedColumns(page, kick, again), g =>
    JSON.stringify(g.error),
  )
  table.element.hidden = true
  const read = async () => {
    const result = await groups(page, ({items, counted, other, more}) => {
      known = {items, counted, other}
      table.show(items)
      table.element.hidden = items.length === 0
      said_.hidden = items.length > 0 && !more && !other
      put(
        said_,
        more
          ? `${number(counted)} counted so far …`
          : other
            ? `${many(other, 'order')} have further errors.`
            : 'No order has failed.',
      )
      if (!items.length) put(all)
      else if (!all.children.length)
        all.append(
          ...[
            may('order', 'worker') &&
              asking(page, 'Kick all', read, () => (known.counted ? kickAll(every(), again) : none())),
            csv(() => saveCsv(table, known.items)),
            may('order') && button('Release all', () => releaseAll(every(), page, again), {class: 'push apart'}),
          ].filter(Boolean),
        )
    })
    put(wrong, unread(result))
    if (!result.ok) said_.hidden = true
    return result
  }
  poll = page.poll(read, 10)
  return h('section', null, h('h2', {title: 'Holdfast: buried'}, 'Failed orders'), wrong, table.element, said_, all)
}

export function show(page) {
  const wrong = h('div')
  let poll = null,
    items = []
  const again = () => poll.now()
  const change = ({job, paused}) =>
    asking(page, paused ? 'Resume' : 'Pause', read, () => {
      const now = items.find(j => j.job === job)
      if (now.paused === paused) return (paused ? resume : pause)(now, again)
      announce(`The job ${job} ${paused ? 'goes on' : 'is paused'} by now.`)
    })
  const table = new Table('Jobs', jobColumns(change), j => j.job)
  const read = async () => {
    const result = await page.get('jobs')
    put(wrong, unread(result))
    if (result.ok) {
      items = result.data.items
      table.show(items)
    }
    return result
  }
  poll = page.poll(read, 5)
  const tasks = new List(page, {
    table: new Table('Tasks, newest first', TASKS, t => t.task_id),
    what: 'task',
    at: () => ['tasks'],
    empty: 'No worker has claimed orders yet.',
  })
  page.room.append(
    h(
      'section',
      null,
      wrong,
      table.element,
      h(
        'div',
        {class: 'more'},
        csv(() => saveCsv(table, items)),
      ),
    ),
    buried(page),
    h('section', null, h('h2', null, 'Tasks'), tasks.element),
  )
}
