/* orders.js - orders: by id, by state, and one order with all that may be done with it. */
import {
  are,
  Table,
  add,
  ago,
  button,
  code,
  facts,
  fullTime,
  h,
  many,
  now,
  number,
  put,
  said,
  state,
  time,
  toOrder,
  toSku,
  units,
} from './dom.js'
import {call, may, newId, path, query} from './api.js'
import {announce, ask, asking, field, unread} from './ask.js'
import {List} from './list.js'

const STATES = ['held', 'confirmed', 'buried', 'settled', 'released', 'expired']

export const unitsOf = order => order.lines.reduce((n, l) => n + l.qty, 0)
const linesInWords = lines => [
  lines.slice(0, 3).map((l, i) => [i > 0 && ', ', number(l.qty), ' × ', code(l.sku), ' at ', code(l.location)]),
  lines.length > 3 && `, and ${many(lines.length - 3, 'more line')}`,
]
/* The words for a change that had been done before. */
const before = replayed => (replayed ? ' It had been done before.' : '')

/* ---- a new order */

/* Rows of a form, each a sku, its units and its location. */
function lineRows() {
  const rows = h('div', {class: 'rows'})
  const more = () => {
    const sku = field('Sku', {maxlength: 128}),
      qty = field('Units', {inputmode: 'numeric'}),
      where = field('Location', {value: 'main', maxlength: 64})
    const row = h(
      'div',
      {class: 'row'},
      sku.element,
      qty.element,
      where.element,
      button(
        'Remove',
        () => {
          if (rows.children.length > 1) row.remove()
          rows.dispatchEvent(new Event('refresh', {bubbles: true}))
        },
        {'aria-label': 'Remove this line'},
      ),
    )
    row.read = () => ({sku: sku.value, qty: qty.int, location: where.value || 'main'})
    rows.append(row)
    return sku.input
  }
  more()
  return {
    element: h(
      'div',
      null,
      rows,
      button('Another line', () => {
        more().focus()
        rows.dispatchEvent(new Event('refresh', {bubbles: true}))
      }),
    ),
    lines: () => [...rows.children].map(row => row.read()),
  }
}

export function newOrder(page) {
  const id = field('Order id', {value: newId('order'), maxlength: 64, required: true}),
    rows = lineRows(),
    customer = field('Customer', {maxlength: 64}),
    reference = field('Reference', {maxlength: 500}),
    minutes = field('Held for, in minutes', {value: '15', inputmode: 'numeric'}),
    confirm = field('Then', {
      options: [
        ['', 'hold it'],
        ['yes', 'confirm it at once'],
      ],
    })
  return ask({
    title: 'New order',
    fields: [id.element, rows.element, customer.element, reference.element, minutes.element, confirm.element],
    say: () => {
      const lines = rows.lines(),
        sum = lines.reduce((n, l) => n + l.qty, 0)
      if (!id.value) return {missing: 'What is its id?'}
      if (lines.some(l => !l.sku || !(l.qty > 0)))
        return {missing: 'Each line names a sku and a whole number of units.'}
      if (!(minutes.int > 0)) return {missing: 'For how many minutes?'}
      return {
        what: [
          confirm.value ? 'Promise ' : 'Hold ',
          h('b', null, units(sum)),
          ' for ',
          code(id.value),
          ': ',
          linesInWords(lines),
          '.',
        ],
        act: `${confirm.value ? 'Confirm' : 'Hold'} ${units(sum)}`,
      }
    },
    send: () =>
      call('POST', 'reservations', {
        order_id: id.value,
        lines: rows.lines(),
        ttl_s: minutes.int * 60,
        ...(confirm.value && {confirm: true}),
        ...(customer.value && {customer: customer.value}),
        ...(reference.value && {reference: reference.value}),
      }),
    done: ({data, replayed}) => [
      'Order ',
      toOrder(data.order_id),
      ' is ',
      data.state,
      ' with ',
      units(unitsOf(data)),
      '.',
      before(replayed),
    ],
  }).then(result => {
    if (result) location.hash = '#/order/' + encodeURIComponent(result.data.order_id)
    else page.again()
  })
}

/* ---- what may be done with one order */

const act = (verb, order) => path`reservations/${order.order_id}/` + verb
const isNow = ({data, replayed}) => ['Order ', code(data.order_id), ' is ', data.state, '.', before(replayed)]

function simple(title, verb, sentence, button_text, more = {}) {
  return order =>
    ask({
      title: [title, ' ', code(order.order_id)],
      say: () => ({what: sentence(order), act: button_text(order)}),
      send: () => call('POST', act(verb, order), more.body ?? {}),
      done: isNow,
      danger: more.danger,
    })
}

const release = simple(
  'Release',
  'release',
  o => [h('b', null, units(unitsOf(o))), are(unitsOf(o), ' goes back: ', ' go back: '), linesInWords(o.lines), '.'],
  o => `Release ${units(unitsOf(o))}`,
  {danger: true},
)
const confirmIt = simple(
  'Confirm',
  'confirm',
  o => [
    h('b', null, units(unitsOf(o))),
    are(unitsOf(o), ' is kept for it: ', ' are kept for it: '),
    linesInWords(o.lines),
    '.',
  ],
  o => `Confirm ${units(unitsOf(o))}`,
)
const reacquire = simple(
  'Confirm the expired order',
  'confirm',
  o => [
    h('b', null, units(unitsOf(o))),
    are(
      unitsOf(o),
      ' is held anew and confirmed, if it can still be had: ',
      ' are held anew and confirmed, if they can still be had: ',
    ),
    linesInWords(o.lines),
    '.',
  ],
  o => `Hold and confirm ${units(unitsOf(o))}`,
  {body: {if_expired: 'reacquire'}},
)
const kick = simple(
  'Kick',
  'kick',
  o => [
    'The order goes back to the workers with its ',
    h('b', null, units(unitsOf(o))),
    '. Its last error: ',
    o.last_error ? said(o.last_error) : 'none',
    '.',
  ],
  o => `Kick ${units(unitsOf(o))}`,
)

function settle(order) {
  const force = field('If a worker has it', {
    options: [
      ['', 'leave it to the worker'],
      ['yes', 'take it away from the worker'],
    ],
  })
  return ask({
    title: ['Settle ', code(order.order_id)],
    fields: [force.element],
    say: () => ({
      what: [
        h('b', null, units(unitsOf(order))),
        are(unitsOf(order), ' leaves the stock: ', ' leave the stock: '),
        linesInWords(order.lines),
        '.',
      ],
      act: `Settle ${units(unitsOf(order))}`,
    }),
    send: () => call('POST', act('settle', order), force.value ? {force: true} : {}),
    done: isNow,
  })
}

function extend(order) {
  const minutes = field('From now, in minutes', {value: '15', inputmode: 'numeric', required: true})
  return ask({
    title: ['Extend ', code(order.order_id)],
    fields: [minutes.element],
    say: () =>
      !(minutes.int > 0)
        ? {missing: 'For how many minutes from now?'}
        : {
            what: [
              h('b', null, units(unitsOf(order))),
              are(unitsOf(order), ' is', ' are'),
              ` held until ${fullTime(now() + minutes.int * 60000)}, not ${fullTime(order.expires_at)}.`,
            ],
            act: `Hold ${units(unitsOf(order))} for ${number(minutes.int)} min`,
          },
    send: () => call('POST', act('extend', order), {ttl_s: minutes.int * 60}),
    done: ({data}) => ['Order ', code(data.order_id), ' is held until ', time(data.expires_at), '.'],
  })
}

/* The time is said once, so that a call that is sent again is the same one. */
function holdBack(order) {
  const reason = field('Reason', {maxlength: 500}),
    days = field('For how many days', {inputmode: 'numeric', hint: 'Nothing: until somebody lets it go.'})
  let until = null
  return ask({
    title: ['Hold back ', code(order.order_id)],
    fields: [reason.element, days.element],
    say: () => {
      if (days.value && !(days.int > 0 && days.int <= 400)) return {missing: 'For how many days, 400 at most?'}
      until = days.value ? new Date(now() + days.int * 86400000).toISOString() : null
      return {
        what: [
          h('b', null, units(unitsOf(order))),
          are(unitsOf(order), ' is', ' are'),
          ` not shipped ${until ? 'before ' + fullTime(until) : 'until somebody lets the order go'}.`,
        ],
        act: 'Hold back',
      }
    },
    send: () => call('PUT', act('hold', order), {until, ...(reason.value && {reason: reason.value})}),
    done: ({data, replayed}) => ['Order ', code(data.order_id), ' is held back.', before(replayed)],
  })
}

const letGo = order =>
  ask({
    title: ['Let go ', code(order.order_id)],
    say: () => ({
      what: [h('b', null, units(unitsOf(order))), ' may be shipped once the order is confirmed.'],
      act: 'Let go',
    }),
    send: () => call('DELETE', act('hold', order)),
    done: ({data, replayed}) => ['Order ', code(data.order_id), ' is not held back any more.', before(replayed)],
  })

const THEN = {held: ['confirm', 'release'], confirmed: ['settle', 'release']}
const THEN_WORDS = {confirm: 'confirm the new one', release: 'release the new one', settle: 'settle the new one'}
function split(order) {
  const id = field('Id of the new order', {value: newId(order.order_id.slice(0, 30)), maxlength: 64, required: true})
  const then = field('Then', {
    options: [
      ['', 'leave it as the first is'],
      ...THEN[order.state].filter(t => (t === 'settle' ? may('worker') : may('order'))).map(t => [t, THEN_WORDS[t]]),
    ],
  })
  const take = order.lines
    .slice(0, 50)
    .map(l => [l, field(`${l.sku} at ${l.location}, of ${number(l.qty)}`, {value: '0', inputmode: 'numeric'})])
  const lines = () =>
    take.filter(([, f]) => f.int > 0).map(([l, f]) => ({sku: l.sku, location: l.location, qty: f.int}))
  return ask({
    title: ['Split ', code(order.order_id)],
    fields: [...take.map(([, f]) => f.element), id.element, then.element],
    say: () => {
      const sum = lines().reduce((n, l) => n + l.qty, 0)
      if (take.some(([, f]) => !(f.int >= 0))) return {missing: 'Whole numbers of units.'}
      if (!sum) return {missing: 'How many units leave this order?'}
      const over = take.find(([l, f]) => f.int > l.qty)
      if (over) return {missing: `Only ${units(over[0].qty)} of ${over[0].sku} ${are(over[0].qty, 'is', 'are')} there.`}
      if (sum === unitsOf(order)) return {missing: 'Some units stay in this order.'}
      return {
        what: [
          h('b', null, units(sum)),
          are(sum, ' goes to ', ' go to '),
          code(id.value),
          then.value ? `, then ${THEN_WORDS[then.value]}` : '',
          `; ${units(unitsOf(order) - sum)} ${are(unitsOf(order) - sum, 'stays', 'stay')}.`,
        ],
        act: `Split off ${units(sum)}`,
      }
    },
    send: () =>
      call('POST', act('split', order), {order_id: id.value, lines: lines(), ...(then.value && {then: then.value})}),
    done: ({data, replayed}) => [
      units(unitsOf(data)),
      ': in ',
      toOrder(data.order_id),
      ' now, which is ',
      data.state,
      '.',
      before(replayed),
    ],
  })
}

/* [the words, what it does, the states that it is for, the roles, what else must hold] */
const ACTS = [
  ['Confirm', confirmIt, ['held'], ['order']],
  ['Confirm anyway', reacquire, ['expired'], ['order']],
  ['Settle', settle, ['confirmed', 'buried'], ['worker']],
  ['Kick', kick, ['buried'], ['order', 'worker']],
  ['Extend', extend, ['held'], ['order']],
  ['Split', split, ['held', 'confirmed'], ['order', 'worker']],
  ['Hold back', holdBack, ['held', 'confirmed', 'buried'], ['order'], o => !o.on_hold],
  ['Let go', letGo, ['held', 'confirmed', 'buried'], ['order'], o => o.on_hold],
  ['Release', release, ['held', 'confirmed', 'buried'], ['order']],
]

/* ---- one order */

const LINES = [
  {head: 'sku', cell: l => toSku(l.sku)},
  {head: 'location', cell: l => code(l.location)},
  {head: 'units', number: true, cell: l => number(l.qty)},
  {head: '', wide: true, cell: l => (l.waiting ? state('waiting') : '')},
]

function times(o) {
  return [
    ['Made', [time(o.created_at), `, ${ago(o.created_at)}`]],
    ['Expires', o.state === 'held' && [time(o.expires_at), `, ${ago(o.expires_at)}`]],
    ['Expired', o.state === 'expired' && time(o.expires_at)],
    ['Confirmed', o.confirmed_at && [time(o.confirmed_at), `, ${ago(o.confirmed_at)}`]],
    ['Ships after', o.ship_after && time(o.ship_after)],
    [
      'Held back',
      o.on_hold && [
        o.on_hold.until ? ['until ', time(o.on_hold.until)] : 'until somebody lets it go',
        o.on_hold.reason && [' · ', said(o.on_hold.reason)],
      ],
    ],
    ['Waits since', o.waits_since && time(o.waits_since)],
    ['Settled', o.settled_at && time(o.settled_at)],
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
const toOrders = ids => ids.map((id, i) => [i > 0 && ', ', toOrder(id)])

function orderFacts(o) {
  return facts([
    ['State', state(o.state)],
    ['Units', h('b', null, number(unitsOf(o)))],
    ['Customer', o.customer && code(o.customer)],
    ['Reference', o.reference && said(o.reference)],
    ['Made by', o.by && code(o.by)],
    ...times(o),
    ['Attempts', o.attempts || o.state === 'confirmed' || o.state === 'buried' ? number(o.attempts) : null],
    ['Last error', o.last_error && said(o.last_error)],
    ['Next attempt', o.next_attempt_at && [time(o.next_attempt_at), `, ${ago(o.next_attempt_at)}`]],
    ['Task', o.task && ofTask(o.task)],
    ['Replaces', o.replaces && toOrder(o.replaces)],
    ['Replaced by', o.replaced_by && toOrder(o.replaced_by)],
    ['Split from', o.split_from && toOrder(o.split_from)],
    ['Split into', o.split_into && toOrders(o.split_into)],
    ['Came back', o.returned && o.returned.map((r, i) => [i > 0 && ', ', number(r.qty), ' × ', toSku(r.sku)])],
  ])
}

function showOrder(page) {
  const [id] = page.params,
    {room} = page
  page.title('Order ', code(id))
  const acts = h('div', {class: 'buttons'}),
    figures = h('div'),
    wrong = h('div')
  const table = new Table(`Lines of ${id}`, LINES, l => JSON.stringify([l.sku, l.location]))
  let order = null,
    offered = ''
  const lines = h('section', {hidden: true}, h('h2', null, 'Lines'), table.element)
  room.append(h('p', null, h('a', {href: '#/orders'}, 'All orders')), wrong, acts, h('section', null, figures), lines)
  const read = async () => {
    const result = await page.get(path`reservations/${id}`)
    put(wrong, result.ok ? null : unread(result))
    if (result.ok) shown(result.data)
    return result.status === 404 ? null : result
  }
  const offer = ([text, does, states]) =>
    asking(page, text, read, async () => {
      if (states.includes(order.state)) await does(order)
      else announce('Order ', code(id), ' is ', order.state, ' by now.')
      poll.now()
    })
  const shown = now => {
    order = now
    put(figures, orderFacts(order))
    table.show(order.lines)
    lines.hidden = false
    const now_offered = order.state + (order.on_hold ? ' and held back' : '')
    if (now_offered === offered) return
    offered = now_offered
    const had = acts.contains(document.activeElement)
    const fits = ([, , states, roles, holds]) =>
      states.includes(order.state) && may(...roles) && (!holds || holds(order))
    acts.replaceChildren(...ACTS.filter(fits).map(offer))
    if (had) (acts.querySelector('button') ?? document.querySelector('h1')).focus({preventScroll: true})
  }
  const poll = page.poll(read, 5)
}

/* ---- the list */

const LISTED = [
  {head: 'order', cell: o => toOrder(o.order_id)},
  {head: 'state', cell: o => state(o.state)},
  {head: 'units', number: true, cell: o => number(unitsOf(o))},
  {head: 'lines', number: true, cell: o => number(o.lines.length)},
  {head: 'made', cell: o => time(o.created_at)},
  {head: 'expires', cell: o => (o.state === 'held' ? time(o.expires_at) : '')},
  {head: 'attempts', number: true, cell: o => o.attempts || ''},
  {head: 'customer', cell: o => (o.customer ? code(o.customer) : '')},
  {
    head: 'reference, last error',
    wide: true,
    cell: o => [
      o.reference && said(o.reference),
      o.reference && o.last_error && ' · ',
      o.last_error && said(o.last_error),
    ],
  },
]

/* [filter of the list, its words, whether a state goes with it]: a call names one. */
const BY = [
  ['prefix', 'Order id begins with', false],
  ['customer', 'Customer', true],
  ['reference', 'Reference', true],
  ['sku', 'Sku, of orders that hold it', false],
]

function showList(page) {
  const {room, query: asked} = page,
    on_hold = asked.get('on_hold'),
    which = asked.get('state') ?? '',
    error = asked.get('error'),
    [by, by_words, by_state] = BY.find(([name]) => asked.get(name)) ?? [],
    filter = by ? {[by]: asked.get(by)} : {}
  const what = field('Find by', {options: BY, value: by}),
    text = field('What it is', {type: 'search', maxlength: 500, value: filter[by] ?? ''})
  const find = h(
    'form',
    {class: 'bar', role: 'search', 'aria-label': 'Orders'},
    what.element,
    text.element,
    h('button', {type: 'submit'}, 'Find'),
    may('order') && button('New order', () => newOrder(page), {class: 'primary push'}),
  )
  find.addEventListener('submit', event => {
    event.preventDefault()
    location.hash = '#/orders' + query(text.value ? {[what.value]: text.value} : {})
  })
  const states = h(
    'nav',
    {'aria-label': 'Orders by state', class: 'tabs'},
    ['', ...STATES].map(s =>
      h(
        'a',
        {
          href: '#/orders' + query({state: s, ...(by_state && filter)}),
          'aria-current': s === which && !on_hold && (!by || by_state) ? 'page' : null,
        },
        s || 'all',
      ),
    ),
    h('a', {href: '#/orders?on_hold=true', 'aria-current': on_hold ? 'page' : null}, 'held back'),
  )
  const label = on_hold ? 'Orders held back' : which ? `Orders that are ${which}` : 'Orders'
  const list = new List(page, {
    table: new Table(by ? `${label}, ${by_words} ${filter[by]}` : label, LISTED, o => o.order_id),
    what: 'order',
    at: cursor => 'reservations' + query({state: which, on_hold, error, ...filter, limit: 100, cursor}),
    empty: by
      ? 'No order is like that.'
      : on_hold
        ? 'No order is held back.'
        : which
          ? `No order is ${which}.`
          : may('order')
            ? 'There is no order yet. Make one with New order.'
            : 'There is no order yet.',
  })
  add(
    room,
    find,
    states,
    error != null &&
      h(
        'p',
        null,
        'Only those whose last error is ',
        h('strong', null, said(error)),
        '. ',
        h('a', {href: '#/orders?state=buried'}, 'All that are buried'),
      ),
    list.element,
  )
}

export const show = page => (page.name === 'order' && page.params[0] ? showOrder(page) : showList(page))
