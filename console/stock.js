/* stock.js - skus: the list, and one sku with its locations, movements, holders and waiting orders. */
import {
  are,
  Table,
  ago,
  button,
  code,
  facts,
  h,
  many,
  number,
  put,
  said,
  signed,
  state,
  time,
  toOrder,
  toSku,
  units,
} from './dom.js'
import {call, mayChangeStock, newId, path, query} from './api.js'
import {announce, ask, asking, field, unread} from './ask.js'
import {List} from './list.js'
import {Plot} from './plots.js'

const MOVEMENTS = 1000

export const orders = n => many(n, 'order')

/* ---- movements: each asks once, and is one call with an id of its own */

const PLACES_MAX = 1000
async function places(signal) {
  const result = await call('GET', `locations?limit=${PLACES_MAX}`, undefined, {signal})
  return result.ok ? result.data.items : []
}
/* The end of a sentence that names a location. It warns of a new one, as a typing error makes one, too; not if there is
 * none yet, or if not all are known. */
const isNew = (known, location) =>
  known.length === 0 || known.length === PLACES_MAX || known.some(p => p.location === location)
    ? '.'
    : ', a new location for sale.'
const WHY = {hint: 'Why, for whoever reads it later.', maxlength: 500}

async function move({title, of, inputs, say, lines, kind, done, extra = []}) {
  const id = newId(kind),
    reason = field('Reason', WHY),
    reference = field('Reference', {maxlength: 500, hint: 'A delivery note, an order of yours.'})
  const result = await ask({
    title,
    say,
    fields: [...inputs.map(f => f.element), reason.element, reference.element, ...extra],
    send: () =>
      call('POST', 'movements', {
        movement_id: id,
        kind,
        lines: lines(),
        ...(reason.value && {reason: reason.value}),
        ...(reference.value && {reference: reference.value}),
      }),
    done: ({data, replayed}) => [
      done(data),
      replayed ? ' It had been done before.' : '',
      ' Movement ',
      code(data.movement_id),
      '.',
    ],
  })
  of.again()
  return result
}

const SKU = {maxlength: 128, required: true, placeholder: 'as on the shelf'}
const UNITS = {inputmode: 'numeric', required: true}

export async function receive(of, sku) {
  const known = (await places(of.signal)).filter(p => p.kind !== 'aside' || sku)
  const which = field('Sku', SKU),
    where = field('Location', {value: 'main', list: known.map(p => p.location), maxlength: 64}),
    amount = field('Units', UNITS)
  const name = () => sku ?? which.value,
    at = () => where.value || 'main'
  const promised = () => known.find(p => p.location === at())?.kind === 'incoming'
  return move({
    title: sku ? ['Receive ', code(sku)] : 'Receive goods',
    of,
    kind: 'receipt',
    inputs: sku ? [amount, where] : [which, amount, where],
    say: () =>
      !name()
        ? {missing: 'Which sku comes in?'}
        : !(amount.int > 0)
          ? {missing: 'How many units come in? A whole number above 0.'}
          : {
              what: [
                promised() ? 'Promise ' : 'Receive ',
                h('b', null, units(amount.int)),
                ' of ',
                code(name()),
                ' at ',
                code(at()),
                isNew(known, at()),
              ],
              act: `${promised() ? 'Promise' : 'Receive'} ${units(amount.int)}`,
            },
    lines: () => [{sku: name(), location: at(), qty: amount.int}],
    done: data => [
      promised() ? 'Promised ' : 'Received ',
      units(data.lines[0].qty),
      ' of ',
      code(data.lines[0].sku),
      ' at ',
      code(data.lines[0].location),
      '.',
    ],
  })
}

async function count(of, sku, stock) {
  const taken = await losses(of)
  const all = stock.locations.filter(p => p.kind !== 'incoming')
  const where = field('Location', {options: all.map(p => [p.location, p.location]), value: all[0]?.location}),
    counted = field('Counted', UNITS)
  const at = () => all.find(p => p.location === where.value)
  return move({
    title: ['Count ', code(sku)],
    of,
    kind: 'count',
    inputs: [where, counted, ...taken.inputs],
    say: () => {
      const place = at(),
        off = counted.int - place?.on_hand
      if (!place) return {missing: 'It lies nowhere yet.'}
      if (!(counted.int >= 0))
        return {
          missing:
            `On hand ${are(place.on_hand, 'is', 'are')} ${units(place.on_hand)} at ${where.value}. ` +
            'How many were counted?',
          act: 'Set on hand',
        }
      return {
        what: [
          'Set ',
          code(sku),
          ' at ',
          code(where.value),
          ' to ',
          h('b', null, units(counted.int)),
          ' on hand: ',
          off === 0
            ? 'as it was known'
            : `${units(Math.abs(off))} ${off < 0 ? 'fewer' : 'more'} than the ${number(place.on_hand)} that ` +
              are(place.on_hand, 'was known', 'were known'),
          '.',
          taken.says(place),
        ],
        act: `Set on hand to ${units(counted.int)}`,
      }
    },
    lines: () => [{sku, location: where.value, counted: counted.int, expected: at().on_hand, ...taken.member(at())}],
    done: data => [
      'Counted ',
      code(sku),
      ': ',
      lineAt(data, where.value).qty === 0 ? 'the number was right' : signed(lineAt(data, where.value).qty) + ' on hand',
      '.',
      lost(data),
    ],
  })
}

/* The field that chooses what happens to orders if their units are missing. Without an incoming location there is no
 * choice. */
async function losses(of) {
  const coming = (await places(of.signal)).filter(p => p.kind === 'incoming')
  const choice = field('If orders have such units', {
    options: [['', 'refuse it'], ...coming.map(p => [p.location, `let them wait at ${p.location}`])],
  })
  return {
    inputs: coming.length ? [choice] : [],
    member: place => (choice.value && place.kind === 'stock' ? {short: 'backorder', to: choice.value} : {}),
    says: place =>
      choice.value && place.kind === 'stock' ? [' Orders that lose units wait at ', code(choice.value), '.'] : '',
  }
}
const lost = ({backordered: of = []}) =>
  of.length
    ? [
        ` ${many(of.length, 'order')} wait${of.length === 1 ? 's' : ''} for others: `,
        of.slice(0, 5).map((b, i) => [i > 0 && ', ', toOrder(b.order_id)]),
        of.length > 5 ? ' …' : '',
        '.',
      ]
    : ''
/* Finds the line of a location: a movement that took units from orders also has a line for the location at which they
 * wait. */
const lineAt = (data, where) => data.lines.find(l => l.location === where)

async function transfer(of, sku, stock) {
  const known = await places(of.signal)
  const from = field('From', {
      options: stock.locations.map(p => [p.location, `${p.location} (${number(p.available)} free)`]),
    }),
    to = field('To', {list: known.map(p => p.location), maxlength: 64, required: true}),
    amount = field('Units', UNITS)
  return move({
    title: ['Transfer ', code(sku)],
    of,
    kind: 'transfer',
    inputs: [from, to, amount],
    say: () =>
      !to.value || to.value === from.value
        ? {missing: 'To which other location?'}
        : !(amount.int > 0)
          ? {missing: 'How many units? A whole number above 0.'}
          : {
              what: [
                'Move ',
                h('b', null, units(amount.int)),
                ' of ',
                code(sku),
                ' from ',
                code(from.value),
                ' to ',
                code(to.value),
                isNew(known, to.value),
              ],
              act: `Move ${units(amount.int)}`,
            },
    lines: () => [{sku, from: from.value, to: to.value, qty: amount.int}],
    done: data => [
      'Moved ',
      units(data.lines[0].qty),
      ' of ',
      code(sku),
      ' from ',
      code(data.lines[0].from),
      ' to ',
      code(data.lines[0].to),
      '.',
    ],
  })
}

async function arrive(of, sku, stock) {
  const known = await places(of.signal)
  const coming = stock.locations.filter(p => p.kind === 'incoming' && p.available + p.reserved > 0)
  const from = field('From', {
      options: coming.map(p => [p.location, `${p.location} (${number(p.available + p.reserved)} promised)`]),
    }),
    to = field('To', {value: 'main', list: known.filter(p => p.kind === 'stock').map(p => p.location), maxlength: 64}),
    amount = field('Units', UNITS)
  return move({
    title: ['Arrival of ', code(sku)],
    of,
    kind: 'arrival',
    inputs: [from, to, amount],
    say: () =>
      !to.value
        ? {missing: 'Where do they arrive?'}
        : !(amount.int > 0)
          ? {missing: 'How many units have come? A whole number above 0.'}
          : {
              what: [
                h('b', null, units(amount.int)),
                ' of ',
                code(sku),
                are(amount.int, ' has come to ', ' have come to '),
                code(to.value),
                '. Orders that wait at ',
                code(from.value),
                ' get theirs first.',
              ],
              act: `Bring in ${units(amount.int)}`,
            },
    lines: () => [{sku, from: from.value, to: to.value, qty: amount.int}],
    done: data => [
      units(data.lines[0].qty),
      ' of ',
      code(sku),
      ' came: ',
      units(data.lines[0].filled ?? 0),
      ' went to orders, ',
      units(data.lines[0].for_sale ?? 0),
      are(data.lines[0].for_sale ?? 0, ' is for sale', ' are for sale'),
      data.lines[0].waiting
        ? `, ${units(data.lines[0].waiting)} ${are(data.lines[0].waiting, 'is', 'are')} being handed out`
        : '',
      '.',
    ],
  })
}

async function adjust(of, sku, stock) {
  const taken = await losses(of)
  const at = () => stock.locations.find(p => p.location === where.value)
  const where = field('Location', {options: stock.locations.map(p => [p.location, p.location])}),
    change = field('Change', {...UNITS, inputmode: 'text', hint: 'With its sign: -6 takes six out, +6 brings six in.'})
  return move({
    title: ['Adjust ', code(sku)],
    of,
    kind: 'adjustment',
    inputs: [where, change, ...taken.inputs],
    say: () =>
      !change.int
        ? {missing: 'By how many units? A whole number with its sign.'}
        : {
            what: [
              change.int < 0 ? 'Take ' : 'Add ',
              h('b', null, units(Math.abs(change.int))),
              ' of ',
              code(sku),
              change.int < 0 ? ' out at ' : ' at ',
              code(where.value),
              '.',
              change.int < 0 && taken.says(at()),
            ],
            act: `${change.int < 0 ? 'Take out' : 'Add'} ${units(Math.abs(change.int))}`,
          },
    lines: () => [{sku, location: where.value, qty: change.int, ...(change.int < 0 && taken.member(at()))}],
    done: data => ['Adjusted ', code(sku), ' by ', signed(lineAt(data, where.value).qty), '.', lost(data)],
  })
}

function threshold(of, sku, stock) {
  const where = field('Location', {
      options: [
        ['', 'all together'],
        ...stock.locations.filter(p => p.kind === 'stock').map(p => [p.location, p.location]),
      ],
    }),
    what = field('Threshold', {
      options: [
        ['low', 'tell when it is low'],
        ['', 'none any more'],
      ],
    }),
    low = field('Low at', {inputmode: 'numeric', hint: 'At or below this many available units.'})
  return ask({
    title: ['Threshold of ', code(sku)],
    fields: [where.element, what.element, low.element],
    say: () =>
      what.value === ''
        ? {what: 'Nothing tells any more that it is low there.', act: 'Remove the threshold'}
        : !(low.int >= 0)
          ? {missing: 'A whole number of units.'}
          : {
              what: [
                'It is low when ',
                h('b', null, units(low.int)),
                ' or fewer are available, ',
                where.value ? ['at ', code(where.value)] : 'all together',
                '.',
              ],
              act: `Low at ${units(low.int)}`,
            },
    send: () =>
      call('PUT', path`skus/${sku}/threshold`, {
        low: what.value === '' ? null : low.int,
        ...(where.value && {location: where.value}),
      }),
    done: ({data}) => [
      code(sku),
      data.low == null ? ' has no threshold there any more.' : ` is low at ${units(data.low)}.`,
    ],
  }).then(result => {
    of.again()
    return result
  })
}

/* ---- one sku */

const lowAt = (t, i) => [i > 0 && ', ', number(t.low), t.location ? [' at ', code(t.location)] : ' all together']

const kindOf = stock => new Map(stock.locations.map(p => [p.location, p.kind]))

/* The change on hand that a movement makes. Units at an incoming location are not in the house. */
function onHandChange(movement, kinds) {
  const inHouse = location => kinds.get(location) !== 'incoming'
  return movement.lines.reduce(
    (sum, l) =>
      sum + (l.from ? (inHouse(l.to) ? l.qty : 0) - (inHouse(l.from) ? l.qty : 0) : inHouse(l.location) ? l.qty : 0),
    0,
  )
}

/* [times, on hand after each], from the last one back. */
export function course(movements, stock) {
  const kinds = kindOf(stock),
    times = [],
    levels = []
  let level = stock.on_hand
  for (const m of movements) {
    times.unshift(Date.parse(m.created_at) / 1000)
    levels.unshift(level)
    level -= onHandChange(m, kinds)
  }
  if (times.length) {
    times.unshift(times[0] - 1)
    levels.unshift(level)
  }
  return [times, levels]
}

const MOVED = [
  {head: 'when', cell: m => time(m.created_at)},
  {head: 'kind', cell: m => m.kind},
  {
    head: 'units',
    number: true,
    cell: m => m.lines.map((l, i) => [i > 0 && h('br'), l.from ? number(l.qty) : signed(l.qty)]),
  },
  {
    head: 'where',
    cell: m => m.lines.map((l, i) => [i > 0 && h('br'), l.from ? [code(l.from), ' → ', code(l.to)] : code(l.location)]),
  },
  {
    head: 'reason',
    wide: true,
    cell: m => [
      m.reason && said(m.reason),
      m.reason && m.reference && ' · ',
      m.reference &&
        (m.kind !== 'settlement'
          ? said(m.reference)
          : m.movement_id.startsWith(`settlement/${m.reference}/`)
            ? ['task ', said(m.reference)]
            : toOrder(m.reference)),
      m.order_id && [' · ', toOrder(m.order_id)],
    ],
  },
  {head: 'by', cell: m => (m.by ? code(m.by) : '')},
  {head: 'movement', wide: true, cell: m => code(m.movement_id)},
]
const HOLDS = sku => [
  {head: 'order', cell: o => toOrder(o.order_id)},
  {head: 'state', cell: o => state(o.state)},
  {head: 'units', number: true, cell: o => number(o.lines.filter(l => l.sku === sku).reduce((n, l) => n + l.qty, 0))},
  {head: 'where', cell: o => o.lines.filter(l => l.sku === sku).map((l, i) => [i > 0 && ', ', code(l.location)])},
  {head: 'since', cell: o => time(o.created_at)},
  {head: 'customer', cell: o => (o.customer ? code(o.customer) : '')},
]
const WAITS = [
  {head: 'order', cell: o => toOrder(o.order_id)},
  {head: 'state', cell: o => state(o.state)},
  {head: 'units', number: true, cell: o => number(o.qty)},
  {head: 'where', cell: o => code(o.location)},
  {head: 'since', cell: o => time(o.waits_since)},
]
const PLACES = [
  {head: 'location', cell: p => code(p.location)},
  {head: 'kind', cell: p => state(p.kind)},
  {head: 'available', number: true, cell: p => number(p.available)},
  {head: 'reserved', number: true, cell: p => number(p.reserved)},
  {head: 'on hand', number: true, cell: p => number(p.on_hand)},
  {head: 'expected', cell: p => (p.expected_at ? time(p.expected_at) : '')},
]

function movementsOf(page, sku, seen) {
  const plot = new Plot('On hand', [{label: 'on hand', unit: 'units', steps: true}], {signal: page.signal, height: 150})
  const table = new Table(`Movements of ${sku}`, MOVED, m => m.movement_id)
  const all = h('div'),
    wrong = h('div'),
    more = h('div', {class: 'more'})
  let shown = 100,
    last = ''
  const show = items => {
    table.show(items.slice(0, shown))
    more.replaceChildren(
      many(items.length, 'movement') + (items.length === MOVEMENTS ? ', the last ones' : ''),
      items.length > shown
        ? button('Show more', () => {
            shown += 100
            show(items)
          })
        : '',
    )
  }
  all.append(h('h2', null, 'Movements'), wrong, plot.element, table.element, more)
  /* Asks for the list at the first look, and when a balance has changed. -> whether something has changed. */
  return {
    element: all,
    async look(stock) {
      const mark = JSON.stringify([stock.on_hand, stock.reserved, stock.locations])
      if (mark === last) return false
      const result = await page.get(path`skus/${sku}/movements` + `?limit=${MOVEMENTS}`)
      put(wrong, result.ok ? null : unread(result))
      if (!result.ok) return false
      const changed = last !== ''
      last = mark
      plot.show(course(result.data.items, stock))
      show(result.data.items)
      seen?.()
      return changed
    },
  }
}

function showSku(page) {
  const [sku] = page.params,
    {room} = page
  page.title(code(sku))
  const acts = h('div', {class: 'buttons', hidden: true}),
    figures = h('div'),
    wrong = h('div')
  const table = new Table(`${sku} by location`, PLACES, p => p.location),
    moved = movementsOf(page, sku)
  const known = h('div', null, h('section', null, figures, table.element), h('section', null, moved.element))
  let stock = null
  const of = {signal: page.signal, again: () => poll.now()}
  const read = async () => {
    const result = await page.get(path`skus/${sku}`)
    put(wrong, result.ok ? null : unread(result))
    if (result.ok) shown(result.data)
    return result
  }
  const offer = (text, does, attributes) => asking(page, text, read, () => does(of, sku, stock), attributes)
  const comes = (of, sku, stock) =>
    stock.incoming ? arrive(of, sku, stock) : announce('No unit of ', code(sku), ' is to come any more.')
  const arrived = offer('Arrival', comes, {hidden: true})
  if (mayChangeStock())
    acts.append(
      button('Receive', () => receive(of, sku)),
      offer('Count', count),
      offer('Transfer', transfer),
      offer('Adjust', adjust),
      arrived,
      offer('Threshold', threshold),
    )
  room.append(
    h('p', null, h('a', {href: '#/stock'}, 'All stock')),
    acts,
    wrong,
    known,
  )
  const shown = now => {
    stock = now
    acts.hidden = false
    arrived.hidden = !stock.incoming
    put(
      figures,
      facts(
        [
          ['Available', h('b', null, number(stock.available))],
          ['Reserved', number(stock.reserved)],
          ['On hand', number(stock.on_hand)],
          ['Aside', stock.aside && number(stock.aside)],
          [
            'Incoming',
            stock.incoming &&
              `${number(stock.incoming.available)} free, ${number(stock.incoming.reserved)} promised to orders`,
          ],
          ['For each customer', stock.per_customer && `at most ${units(stock.per_customer)}`],
          ['Name', stock.name && said(stock.name)],
          ['Barcodes', stock.barcodes && stock.barcodes.map((b, i) => [i > 0 && ', ', code(b)])],
          ['Low at', stock.thresholds && stock.thresholds.map(lowAt)],
        ],
        'facts across',
      ),
    )
    table.show(stock.locations)
  }
  const poll = page.poll(async () => {
    const result = await read()
    orders.hidden = known.hidden = result.status === 404
    if (result.ok && (await moved.look(stock))) await Promise.all([holds.look(), waits.look()])
    return result
  }, 5)

  const holds = new List(page, {
    table: new Table(`Who holds ${sku}`, HOLDS(sku), o => o.order_id),
    what: 'order',
    every_s: 15,
    at: cursor => 'reservations' + query({sku, limit: 100, cursor}),
    empty: 'No order holds units of it.',
  })
  const waits = new List(page, {
    table: new Table(`Who waits for ${sku}`, WAITS, o => o.order_id + ' ' + o.location),
    what: 'line',
    every_s: 15,
    at: cursor => path`skus/${sku}/waiting` + query({limit: 100, cursor}),
    empty: 'Nobody waits for it.',
  })
  const orders = h(
    'div',
    null,
    h('section', null, h('h2', null, 'Who holds it'), holds.element),
    h('section', null, h('h2', null, 'Who waits for it'), waits.element),
  )
  room.append(orders)
}

/* ---- the list */

const lowWords = s => (s.available === 0 ? state('out') : state('low'))
/* The numbers of a row are those of the one location that the list is filtered by. */
const there = s => s.locations?.[0] ?? s
const LISTED = [
  {head: 'sku', cell: s => toSku(s.sku)},
  {head: 'available', number: true, cell: s => number(there(s).available)},
  {head: 'reserved', number: true, cell: s => number(there(s).reserved)},
  {head: 'on hand', number: true, cell: s => number(there(s).on_hand)},
  {head: 'aside', number: true, cell: s => (s.aside && !s.locations ? number(s.aside) : '')},
  {
    head: 'incoming',
    number: true,
    cell: s => (s.incoming && !s.locations ? number(s.incoming.available) : ''),
  },
  {
    head: '',
    wide: true,
    cell: s =>
      s.low
        ? s.low.map((l, i) => [
            i > 0 && ', ',
            lowWords(l),
            ' ',
            l.location ? ['at ', code(l.location)] : 'all together',
            `: ${number(l.available)}, low at ${number(l.low)}`,
          ])
        : there(s).available === 0
          ? state('out')
          : '',
  },
]

async function showList(page) {
  const {room, query: asked} = page
  const prefix = field('Sku begins with', {value: asked.get('prefix') ?? '', type: 'search', maxlength: 128})
  const which = field('Show', {
    options: [
      ['', 'all'],
      ['true', 'low and out of stock'],
    ],
    value: asked.get('low') ?? '',
  })
  const where = field('Stocked at', {options: [['', 'all locations']], value: asked.get('location') ?? ''})
  const empty = h('span'),
    bar = h(
      'form',
      {class: 'bar', role: 'search'},
      prefix.element,
      which.element,
      where.element,
      mayChangeStock() &&
        button('Receive goods', () => receive({signal: page.signal, again: () => page.again()}), {
          class: 'primary push',
        }),
    )
  const go = () => {
    const to = '#/stock' + query({prefix: prefix.value, low: which.value, location: where.value})
    if (location.hash !== to) {
      history.replaceState(null, '', to)
      filter = {prefix: prefix.value, low: which.value, location: where.value}
      tellEmpty()
      list.again()
    }
  }
  let filter = {prefix: prefix.value, low: which.value, location: asked.get('location') ?? ''},
    later
  const tellEmpty = () => {
    const all = !filter.prefix && !filter.low && !filter.location
    const begin = mayChangeStock() ? ' Receive goods to begin.' : ''
    put(empty, all ? `There is nothing.${begin}` : 'No sku is like that.')
  }
  bar.addEventListener('submit', event => {
    event.preventDefault()
    go()
  })
  bar.addEventListener('input', () => {
    clearTimeout(later)
    later = setTimeout(go, 250)
  })
  const list = new List(page, {
    table: new Table('Stock by sku', LISTED, s => s.sku),
    what: 'sku',
    at: cursor => 'skus' + query({...filter, limit: 100, cursor}),
    empty,
  })
  tellEmpty()
  room.append(bar, list.element)
  for (const p of await places(page.signal))
    where.input.append(
      h(
        'option',
        {value: p.location, selected: p.location === filter.location},
        p.kind === 'stock' ? p.location : `${p.location} (${p.kind})`,
      ),
    )
}

export const show = page => (page.name === 'sku' && page.params[0] ? showSku(page) : showList(page))
