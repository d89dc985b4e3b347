/* orders.js - the list of orders, and a new one. */
import {Table, add, button, code, commas, h, many, number, said, state, stateWord, time, toOrder, units} from './dom.js'
import {call, may, newId, query} from './api.js'
import {ask, field} from './ask.js'
import {findSku, homeOf, locations} from './known.js'
import {List} from './list.js'
import {ticks} from './together.js'

const STATES = ['held', 'confirmed', 'buried', 'settled', 'released', 'expired']

export const unitsOf = order => order.lines.reduce((n, l) => n + l.qty, 0)
export const linesInWords = lines => [
  commas(lines.slice(0, 3), l => [number(l.qty), ' × ', code(l.sku), ' at ', code(l.location)]),
  lines.length > 3 && `, and ${many(lines.length - 3, 'more line')}`,
]
/* The words for a change that had been done before. */
export const before = replayed => (replayed ? ' It had been done before.' : '')

/* ---- a new order */

/* Rows of a form, each a sku, its units and its location. A barcode becomes the code of its sku. */
export function lineRows(known) {
  const rows = h('div', {class: 'rows'})
  const changed = () => rows.dispatchEvent(new Event('refresh', {bubbles: true}))
  const more = () => {
    const sku = field('Sku', {maxlength: 128}),
      qty = field('Units', {inputmode: 'numeric'}),
      where = field('Location', {value: homeOf(known), list: (known ?? []).map(p => p.location), maxlength: 64})
    sku.input.addEventListener('change', async () => {
      const text = sku.value,
        found = text && (await findSku(text))
      if (!found?.sku || sku.value !== text) return
      sku.input.value = found.sku
      changed()
    })
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
          changed()
        },
        {'aria-label': 'Remove this line'},
      ),
    )
    row.read = () => ({sku: sku.value, qty: qty.int, location: where.value})
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
        changed()
      }),
    ),
    lines: () => [...rows.children].map(row => row.read()),
  }
}

async function newOrder(page) {
  const known = await locations(page.signal)
  const id = field('Order id', {value: newId('order'), maxlength: 64, required: true}),
    rows = lineRows(known),
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
        sum = unitsOf({lines})
      if (!id.value) return {missing: 'What is its id?'}
      if (lines.some(l => !l.sku || !(l.qty > 0)))
        return {missing: 'Each line names a sku and a whole number of units.'}
      if (lines.some(l => !l.location)) return {missing: 'Each line names a location.'}
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
      stateWord(data.state),
      ' with ',
      units(unitsOf(data)),
      '.',
      before(replayed),
    ],
  }).then(result => {
    if (result) location.hash = '#/order/' + encodeURIComponent(result.data.order_id)
  })
}

/* ---- the list */

const LISTED = [
  {head: 'order', cell: o => toOrder(o.order_id)},
  {
    head: 'state',
    cell: o => [
      state(o.state),
      o.lines.some(l => l.waiting) && [', ', state('waiting')],
      o.on_hold && [', ', state('on hold')],
    ],
  },
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
  ['customer_prefix', 'Customer begins with', true],
  ['reference_prefix', 'Reference begins with', true],
  ['customer', 'Customer', true],
  ['reference', 'Reference', true],
  ['sku', 'Sku, of orders that hold it', false],
]

export function show(page) {
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
        s ? stateWord(s) : 'all',
      ),
    ),
    h('a', {href: '#/orders?on_hold=true', 'aria-current': on_hold ? 'page' : null}, 'on hold'),
  )
  const label = on_hold ? 'Orders on hold' : which ? `Orders that are ${stateWord(which)}` : 'Orders'
  const acts = may('order', 'worker') && ticks(() => list.again())
  const columns = acts ? [acts.column, ...LISTED] : LISTED
  const list = new List(page, {
    seen: acts ? acts.see : undefined,
    table: new Table(by ? `${label}, ${by_words} ${filter[by]}` : label, columns, o => o.order_id),
    what: 'order',
    at: () => ['reservations', {state: which, on_hold, error, ...filter}],
    empty: by
      ? 'No order is like that.'
      : on_hold
        ? 'No order is on hold.'
        : which
          ? `No order is ${stateWord(which)}.`
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
        h('a', {href: '#/orders?state=buried'}, 'All that failed'),
      ),
    acts && h('div', {class: 'buttons'}, acts.all, acts.element),
    list.element,
  )
}
