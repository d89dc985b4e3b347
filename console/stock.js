/* stock.js - the list of skus. Its figures are of all places, or of the one place that is chosen. */
import {Table, button, code, commas, h, number, put, said, state, time, toPlace, toSku} from './dom.js'
import {call, mayChangeStock, query} from './api.js'
import {field} from './ask.js'
import {List} from './list.js'
import {locations, skusLike} from './known.js'
import {newSku} from './settings.js'

/* The figures of an item: of the place by which the list is filtered, or of all. */
const there = s => s.locations?.[0] ?? s
const lows = s =>
  commas(s.low, l => [
    state(l.available === 0 ? 'out' : 'low'),
    ' ',
    l.location ? ['at ', code(l.location)] : 'all together',
    `: ${number(l.available)}, low at ${number(l.low)}`,
  ])
const isStopped = s => s.for_sale === false || there(s).for_sale === false
const marks = s => [
  isStopped(s) && [state('not for sale'), s.low && ', '],
  s.low ? lows(s) : !isStopped(s) && there(s).available === 0 && state('out'),
]

const SKU = [
  {head: 'sku', cell: s => toSku(s.sku)},
  {head: 'name', cell: s => (s.name ? said(s.name) : '')},
]
const figure = (head, of) => ({head, number: true, cell: s => number(of(there(s)) ?? 0)})
const rare = (head, of) => ({head, number: true, cell: s => (of(there(s)) ? number(of(there(s))) : '')})
export const STOPPED = rare('not for sale', s => s.stopped)
const AVAILABLE = figure('available', s => s.available),
  RESERVED = figure('reserved', s => s.reserved),
  ON_HAND = figure('on hand', s => s.on_hand),
  MARKS = {head: '', wide: true, cell: marks}
const OF_ALL = [
  ...SKU,
  AVAILABLE,
  RESERVED,
  STOPPED,
  rare('aside', s => s.aside),
  ON_HAND,
  rare('incoming', s => s.incoming?.available),
  rare('incoming, reserved', s => s.incoming?.reserved),
  MARKS,
]
/* What a place of each kind has. */
const OF_PLACE = {
  stock: [...SKU, AVAILABLE, RESERVED, STOPPED, ON_HAND, MARKS],
  aside: [...SKU, figure('aside', s => s.on_hand)],
  incoming: [...SKU, figure('free', s => s.available), rare('not for sale', s => s.stopped), RESERVED],
}
/* Of a table of places: a column of places of these kinds, which is empty at the others; and what each place has. */
export const only = (head, at, of) => ({head, number: true, cell: p => (at.includes(p.kind) ? number(of(p)) : '')})
export const PLACE = [
  {head: 'location', cell: p => toPlace(p.location)},
  {head: 'kind', cell: p => [state(p.kind), p.for_sale === false && [', ', state('not for sale')]]},
]
export const EXPECTED = {head: 'expected', cell: p => (p.expected_at ? time(p.expected_at) : '')}
const WHAT = {
  stock: 'there',
  aside: 'there, where nothing is for sale',
  incoming: 'promised there, and not in the house',
}

/* The list of what lies at one place, with the thresholds there. does.threshold(sku, stock): changes one. */
export function stockAt(page, {location, kind}, does) {
  const low = s => s.thresholds?.find(t => t.location === location)?.low
  const isLow = s => !isStopped(s) && there(s).available > 0 && there(s).available <= low(s)
  const thresholds = [
    {...MARKS, cell: s => [marks(s), isLow(s) && state('low')]},
    {head: 'low at', number: true, cell: s => (low(s) == null ? '' : number(low(s)))},
    mayChangeStock() && {
      head: '',
      act: true,
      cell: s => button('Threshold', () => does.threshold(s.sku, s), {'aria-label': `Threshold of ${s.sku}`}),
    },
  ].filter(Boolean)
  const columns = [...OF_PLACE[kind].filter(c => c !== MARKS), ...(kind === 'stock' ? thresholds : [])]
  return new List(page, {
    table: new Table(`Stock at ${location}, by sku`, columns, s => s.sku),
    what: 'sku',
    every_s: 15,
    at: () => ['skus', {location}],
    empty: 'Nothing ever lay there.',
    complete: async items => {
      if (kind !== 'stock' || !items.length) return
      const result = await call(
        'POST',
        'stock',
        {skus: items.map(s => s.sku), locations: [location]},
        {signal: page.signal},
      )
      if (result.ok) result.data.items.forEach((s, i) => (items[i].thresholds = s.thresholds))
    },
  })
}

const SHEETS = [
  ['count', 'Count'],
  ['transfer', 'Move'],
  ['adjustment', 'Write off'],
  ['receipt', 'Receive goods'],
]

export async function show(page) {
  const {room, query: asked} = page
  const known = locations(page.signal)
  let filter = {text: asked.get('q') ?? '', low: asked.get('low') ?? '', location: asked.get('location') ?? ''},
    kinds = new Map(),
    later
  const text = field('Code, name or barcode', {value: filter.text, type: 'search', maxlength: 128}),
    which = field('Show', {
      options: [
        ['', 'all'],
        ['true', 'low and out of stock'],
      ],
      value: filter.low,
    }),
    where = field('Stocked at', {options: [['', 'all places']], value: filter.location})
  const of = h('p', {class: 'muted', role: 'status'}),
    empty = h('span'),
    sheets = SHEETS.map(
      ([kind, words]) => mayChangeStock() && h('a', {class: kind === 'receipt' ? 'button primary' : 'button'}, words),
    ),
    bar = h(
      'form',
      {class: 'bar', role: 'search', 'aria-label': 'Stock'},
      text.element,
      which.element,
      where.element,
      mayChangeStock() && button('New sku', newSku, {class: 'push'}),
      sheets,
    )
  const kind = () => kinds.get(filter.location) ?? 'stock'
  const table = () =>
    filter.location
      ? new Table(`Stock at ${filter.location}, by sku`, OF_PLACE[kind()], s => s.sku)
      : new Table('Stock by sku, all places', OF_ALL, s => s.sku)
  const tellFilter = () => {
    put(
      of,
      filter.location
        ? ['Figures are of ', toPlace(filter.location), ': units ', WHAT[kind()], '.']
        : 'Figures are of all places.',
    )
    SHEETS.forEach(([kind], i) => {
      if (sheets[i]) sheets[i].href = `#/sheet/${kind}` + query({location: filter.location})
    })
    const all = !filter.text && !filter.low && !filter.location
    const begin = mayChangeStock() ? ' Receive goods to begin.' : ''
    put(empty, all ? `There is nothing.${begin}` : 'No sku is like that.')
  }
  const go = () => {
    const next = {text: text.value, low: which.value, location: where.value}
    if (JSON.stringify(next) === JSON.stringify(filter)) return
    const moves = next.location !== filter.location
    filter = next
    history.replaceState(null, '', '#/stock' + query({q: filter.text, low: filter.low, location: filter.location}))
    tellFilter()
    if (moves) list.use(table())
    list.again()
  }
  bar.addEventListener('submit', event => {
    event.preventDefault()
    go()
  })
  bar.addEventListener('input', () => {
    clearTimeout(later)
    later = setTimeout(go, 250)
  })
  const choices = all => {
    kinds = new Map(all.map(p => [p.location, p.kind]))
    for (const {location, kind} of all)
      where.input.append(
        h(
          'option',
          {value: location, selected: location === filter.location},
          kind === 'stock' ? location : `${location} (${kind})`,
        ),
      )
  }
  if (filter.location) choices((await known) ?? []) /* the kind of the place says which figures it has */
  const list = new List(page, {
    table: table(),
    what: 'sku',
    at: () => ['skus', {...skusLike(filter.text), low: filter.low, location: filter.location}],
    empty,
  })
  tellFilter()
  room.append(bar, of, list.element)
  if (!filter.location) choices((await known) ?? [])
}
