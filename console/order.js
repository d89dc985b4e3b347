/* order.js - one order: its lines, what it waits for, what has happened to it, and what may be done with it. */
import {
  Table,
  ago,
  code,
  commas,
  facts,
  h,
  number,
  put,
  said,
  section,
  signed,
  state,
  stateWord,
  time,
  toOrder,
  toSku,
  units,
} from './dom.js'
import {path} from './api.js'
import {announce, asking, unread} from './ask.js'
import {ACTS, fits} from './changes.js'
import {List} from './list.js'
import {unitsOf} from './orders.js'

const LINES = [
  {head: 'sku', cell: l => toSku(l.sku)},
  {head: 'location', cell: l => code(l.location)},
  {head: 'units', number: true, cell: l => number(l.qty)},
  {
    head: '',
    wide: true,
    cell: l =>
      l.waiting
        ? [state('waiting'), l.expected_at ? [', expected ', time(l.expected_at)] : ', and no date is known']
        : '',
  },
]

const when = at => [time(at), `, ${ago(at)}`]
function times(o) {
  return [
    ['Made', when(o.created_at)],
    ['Expires', o.state === 'held' && when(o.expires_at)],
    ['Expired', o.state === 'expired' && time(o.expires_at)],
    ['Confirmed', o.confirmed_at && when(o.confirmed_at)],
    ['Ships after', o.ship_after && time(o.ship_after)],
    [
      'On hold',
      o.on_hold && [
        o.on_hold.until ? ['until ', time(o.on_hold.until)] : 'until it is taken off hold',
        o.on_hold.reason && [' · ', said(o.on_hold.reason)],
      ],
    ],
    ['Shipped', o.settled_at && time(o.settled_at)],
    ['Released', o.released_at && time(o.released_at)],
  ].filter(([, value]) => value)
}

/* Facts that only the answer of a single order has, not one of a list. */
const ofTask = t => [
  h('a', {href: '#/jobs'}, `task ${t.task_id}`),
  ' of ',
  code(t.worker),
  ', ',
  state(t.state),
  t.state === 'open' && [', lease until ', time(t.lease_until)],
]

/* Of an order that waits: for how many units, since when, and when the last of them is expected. */
function waiting(o) {
  const lines = o.lines.filter(l => l.waiting)
  if (!lines.length) return null
  const dates = lines.map(l => l.expected_at).filter(Boolean)
  return [
    state('waiting'),
    ` for ${number(unitsOf({lines}))} of ${units(unitsOf(o))}`,
    o.waits_since && [', since ', time(o.waits_since)],
    dates.length === lines.length
      ? ['; all are expected by ', time(dates.sort().at(-1))]
      : '; of some no date is known',
  ]
}

function orderFacts(o) {
  return facts([
    ['State', [state(o.state), o.on_hold && [', ', state('on hold')]]],
    ['Waits', waiting(o)],
    ['Units', h('b', null, number(unitsOf(o)))],
    ['Customer', o.customer && code(o.customer)],
    ['Reference', o.reference && said(o.reference)],
    ['Made by', o.by && code(o.by)],
    ...times(o),
    ['Attempts', o.attempts || o.state === 'confirmed' || o.state === 'buried' ? number(o.attempts) : null],
    ['Last error', o.last_error && said(o.last_error)],
    ['Next attempt', o.next_attempt_at && when(o.next_attempt_at)],
    ['Task', o.task && ofTask(o.task)],
    ['Replaces', o.replaces && toOrder(o.replaces)],
    ['Replaced by', o.replaced_by && toOrder(o.replaced_by)],
    ['Split from', o.split_from && toOrder(o.split_from)],
    ['Split into', o.split_into && commas(o.split_into, toOrder)],
    ['Came back', o.returned && commas(o.returned, r => [number(r.qty), ' × ', toSku(r.sku)])],
  ])
}

/* ---- what has happened */

const WHAT = {
  held: 'held',
  confirmed: 'confirmed',
  extended: 'held for longer',
  released: 'released',
  expired: 'expired',
  settled: 'shipped',
  buried: 'failed',
  kicked: 'given to the workers again',
  split: 'split',
  replaced: 'replaced',
  arrived: 'units have come',
  backordered: 'waits for units that were lost',
  changed: 'lines changed',
  on_hold: 'put on hold',
  off_hold: 'taken off hold',
}
const kindOf = e => e.type.replace('reservation.', '')
/* The units more or fewer of each sku and location. */
function differences({lines, lines_before: before = []}) {
  const by = new Map()
  const count = (l, sign) => {
    const key = JSON.stringify([l.sku, l.location])
    by.set(key, (by.get(key) ?? 0) + sign * l.qty)
  }
  lines.forEach(l => count(l, 1))
  before.forEach(l => count(l, -1))
  return [...by].filter(([, n]) => n !== 0).map(([key, n]) => [...JSON.parse(key), n])
}
/* Why it happened: an order, a task or a movement, as the kind says. */
function causeOf(kind, cause) {
  if (cause == null) return null
  if (kind === 'split' || kind === 'replaced' || kind === 'held') return ['with ', toOrder(cause)]
  return typeof cause === 'number' ? `by task ${cause}` : ['by ', code(cause)]
}
function details(e) {
  const {data} = e,
    kind = kindOf(e)
  return [
    kind === 'changed' &&
      !data.lines_cut &&
      commas(differences(data), ([sku, where, n]) => [signed(n), ' × ', toSku(sku), ' at ', code(where)]),
    kind === 'extended' && ['until ', time(data.expires_at)],
    kind === 'buried' && data.last_error && said(data.last_error),
    kind === 'on_hold' && data.on_hold?.until && ['until ', time(data.on_hold.until)],
    kind === 'on_hold' && data.on_hold?.reason && said(data.on_hold.reason),
    causeOf(kind, data.cause),
  ]
    .filter(Boolean)
    .map((part, i) => [i > 0 && ' · ', part])
}
const HISTORY = [
  {head: 'when', cell: e => time(e.at)},
  {head: 'what', cell: e => h('span', {title: e.type}, WHAT[kindOf(e)] ?? kindOf(e))},
  {head: 'units', number: true, cell: e => (e.data.lines_cut ? '' : number(unitsOf(e.data)))},
  {head: '', wide: true, cell: details},
  {head: 'by', cell: e => (e.by ? code(e.by) : '')},
]

/* ---- the page */

export function show(page) {
  const [id] = page.params,
    {room} = page
  page.title('Order ', code(id))
  const acts = h('div', {class: 'buttons'}),
    figures = h('div'),
    wrong = h('div')
  const table = new Table(`Lines of ${id}`, LINES, l => JSON.stringify([l.sku, l.location]))
  let order = null,
    offered = ''
  const history = new List(page, {
    table: new Table(`History of ${id}`, HISTORY, e => e.id),
    what: 'event',
    every_s: 60,
    at: () => [path`reservations/${id}/events`],
    empty: 'Its events are not kept any more.',
  })
  const known = h(
    'div',
    {hidden: true},
    h('section', null, figures),
    section('Lines', table.element),
    section('History', history.element),
  )
  room.append(h('p', null, h('a', {href: '#/orders'}, 'All orders')), wrong, acts, known)
  const read = async () => {
    const result = await page.get(path`reservations/${id}`)
    put(wrong, unread(result))
    if (result.ok) shown(result.data)
    return result.status === 404 ? null : result
  }
  const offer = act =>
    asking(
      page,
      act.text,
      read,
      async () => {
        if (fits(order, act)) await act.does(order, page)
        else announce('Order ', code(id), ' is ', stateWord(order.state), order.on_hold && ', on hold', ' by now.')
        poll.now()
      },
      {title: act.title, class: act.danger ? 'push apart' : null},
    )
  const shown = now => {
    if (order && order.version !== now.version) history.look()
    order = now
    put(figures, orderFacts(order))
    table.show(order.lines)
    known.hidden = false
    const fitting = ACTS.filter(act => fits(order, act)),
      names = fitting.map(act => act.text).join()
    if (names === offered) return
    offered = names
    const had = acts.contains(document.activeElement)
    acts.replaceChildren(...fitting.map(offer))
    if (had) (acts.querySelector('button') ?? document.querySelector('h1')).focus({preventScroll: true})
  }
  const poll = page.poll(read, 5)
}
