/* sku.js - one sku: its locations, holders and waiting orders; movements.js has its movements. */
import {Table, button, code, commas, facts, h, number, put, said, section, state, time, toOrder, units} from './dom.js'
import {mayChangeStock, path} from './api.js'
import {announce, asking, unread} from './ask.js'
import {List} from './list.js'
import {adjust, arrive, count, receive, transfer} from './moving.js'
import {details, limit, start, stop, threshold} from './settings.js'
import {movementsOf} from './movements.js'
import {EXPECTED, PLACE, STOPPED, only} from './stock.js'

const ORDER = {head: 'order', cell: o => toOrder(o.order_id)}
const lowAt = t => [number(t.low), t.location ? [' at ', code(t.location)] : ' all together']

const HOLDS = sku => [
  ORDER,
  {head: 'state', cell: o => [state(o.state), o.on_hold && [', ', state('on hold')]]},
  {head: 'units', number: true, cell: o => number(o.lines.filter(l => l.sku === sku).reduce((n, l) => n + l.qty, 0))},
  {head: 'where', cell: o => commas(o.lines.filter(l => l.sku === sku).map(l => l.location))},
  {head: 'since', cell: o => time(o.created_at)},
  {head: 'customer', cell: o => (o.customer ? code(o.customer) : '')},
]
const WAITS = [
  ORDER,
  {head: 'state', cell: o => state(o.state)},
  {head: 'units', number: true, cell: o => number(o.qty)},
  {head: 'where', cell: o => code(o.location)},
  {head: 'since', cell: o => time(o.waits_since)},
]
const PLACES = [
  ...PLACE,
  only('available', 'stock', p => p.available),
  only('reserved', 'stock', p => p.reserved),
  STOPPED,
  only('aside', 'aside', p => p.on_hand),
  only('on hand', 'stock aside', p => p.on_hand),
  only('incoming', 'incoming', p => p.available),
  only('incoming, reserved', 'incoming', p => p.reserved),
  EXPECTED,
]

export function show(page) {
  const [sku] = page.params,
    {room} = page
  page.title(code(sku))
  const acts = h('div', {class: 'buttons', hidden: true}),
    sets = h('div', {class: 'buttons'}),
    figures = h('div'),
    settings = h('div'),
    wrong = h('div')
  const table = new Table(`${sku} by location`, PLACES, p => p.location),
    moved = movementsOf(page, sku)
  const known = h(
    'div',
    null,
    h('section', null, h('p', {class: 'muted'}, 'Figures are of all places.'), figures, table.element),
    section('Settings', settings, sets),
    h('section', null, moved.element),
  )
  let stock = null
  const of = {signal: page.signal, again: () => poll.now()}
  const read = async () => {
    const result = await page.get(path`skus/${sku}`)
    put(wrong, unread(result))
    if (result.ok) shown(result.data)
    return result
  }
  const offer = (text, does, attributes) => asking(page, text, read, () => does(of, sku, stock), attributes)
  const comes = (of, sku, stock) =>
    stock.incoming ? arrive(of, sku, stock) : announce('No unit of ', code(sku), ' is to come any more.')
  const arrived = offer('Arrival', comes, {hidden: true})
  const stops = offer('Stop the sale', stop, {hidden: true}),
    starts = offer('Sell again', start, {hidden: true})
  if (mayChangeStock()) {
    acts.append(
      button('Receive', () => receive(of, sku)),
      offer('Count', count),
      offer('Transfer', transfer),
      offer('Adjust', adjust),
      arrived,
    )
    sets.append(
      offer('Name and barcodes', details),
      offer('Limit', limit),
      offer('Threshold', threshold),
      h('span', {class: 'push'}),
      starts,
      stops,
    )
  }
  room.append(h('p', null, h('a', {href: '#/stock'}, 'All stock')), acts, wrong, known)
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
          ['Not for sale', stock.stopped && number(stock.stopped)],
          ['Aside', stock.aside && number(stock.aside)],
          ['On hand', number(stock.on_hand)],
          [
            'Incoming',
            stock.incoming &&
              `${number(stock.incoming.available)} free, ${number(stock.incoming.reserved)} promised to orders` +
                (stock.incoming.stopped ? `, ${number(stock.incoming.stopped)} not for sale` : ''),
          ],
        ],
        'facts across',
      ),
    )
    table.show(stock.locations)
    const stopped = stock.for_sale === false
    stops.hidden = stopped
    starts.hidden = !stopped
    put(
      settings,
      facts([
        ['Name', stock.name ? said(stock.name) : 'none'],
        ['Barcodes', stock.barcodes ? commas(stock.barcodes) : 'none'],
        ['For each customer', stock.per_customer ? `at most ${units(stock.per_customer)}` : 'no limit'],
        ['Low at', stock.thresholds ? commas(stock.thresholds, lowAt) : 'no threshold'],
        ['For sale', stopped ? [state('not for sale'), stock.reason && [': ', said(stock.reason)]] : 'yes'],
      ]),
    )
  }
  const poll = page.poll(async () => {
    const result = await read()
    orders.hidden = known.hidden = result.status === 404
    if (result.ok && (await moved.look(stock))) await Promise.all([holds.look(), waits.look()])
    return result
  }, 5)

  const holds = new List(page, {
    table: new Table(`Orders that hold units of ${sku}`, HOLDS(sku), o => o.order_id),
    what: 'order',
    every_s: 15,
    at: () => ['reservations', {sku}],
    empty: 'No order holds units of it.',
  })
  const waits = new List(page, {
    table: new Table(`Orders that wait for units of ${sku}`, WAITS, o => o.order_id + ' ' + o.location),
    what: 'line',
    every_s: 15,
    at: () => [path`skus/${sku}/waiting`],
    empty: 'No order waits for it.',
  })
  const orders = h(
    'div',
    null,
    section('Orders that hold units', holds.element),
    section('Orders that wait for units', waits.element),
  )
  room.append(orders)
}
