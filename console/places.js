/* places.js - locations: the list, and one with what lies there. */
import {Table, button, capital, code, facts, h, number, put, said, state, time, toPlace} from './dom.js'
import {call, mayChangeStock, path, query} from './api.js'
import {ask, asking, field, unread} from './ask.js'
import {LOCATION_MAX, forgetLocations, isCode, locations, maker} from './known.js'
import {List} from './list.js'
import {startSales, stopSales, threshold} from './settings.js'
import {EXPECTED, PLACE, STOPPED, only, stockAt} from './stock.js'

const KINDS = [
  ['stock', 'stock: in the house, for sale'],
  ['aside', 'aside: in the house, not for sale'],
  ['incoming', 'incoming: promised by a supplier'],
]

/* ---- made and changed */

/* A time as the field of a browser has it, in the time zone of the reader. */
function localTime(at) {
  const d = new Date(at)
  return new Date(d - d.getTimezoneOffset() * 60000).toISOString().slice(0, 16)
}

/* One dialog makes a location or changes it. `place`: as it is; null: a new one. */
async function write(of, place) {
  const known = (await locations(of.signal)) ?? [],
    make = place ? (at, body) => call('PUT', at, body) : maker(),
    coming = known.filter(p => p.kind === 'incoming').map(p => p.location)
  const name = field('Code', {maxlength: LOCATION_MAX, required: true, hint: 'It stays for ever.'}),
    kind = field('Kind', {options: KINDS, value: place?.kind ?? 'stock'}),
    expected = field('Expected', {
      type: 'datetime-local',
      value: place?.expected_at ? localTime(place.expected_at) : '',
      hint: 'When its units are expected. Nothing: no time is told.',
    }),
    waits = field('Freed units go to the queue of', {
      options: [['', 'none'], ...coming.map(p => [p, p])],
      value: place?.waits_at ?? '',
      hint: 'Orders that wait there get units that become free here.',
    })
  const at = () => place?.location ?? name.value
  const fit = () => {
    expected.element.hidden = kind.value !== 'incoming'
    waits.element.hidden = kind.value !== 'stock' || coming.length === 0
  }
  kind.input.addEventListener('input', fit)
  fit()
  const body = () => ({
    kind: kind.value,
    ...(kind.value === 'incoming' && {
      expected_at: expected.value ? new Date(expected.value).toISOString() : null,
    }),
    ...(kind.value === 'stock' && coming.length > 0 && {waits_at: waits.value || null}),
  })
  const result = await ask({
    title: place ? ['Change ', code(place.location)] : 'New location',
    fields: [...(place ? [] : [name.element]), kind.element, expected.element, waits.element],
    say: () =>
      !at()
        ? {missing: 'What is its code?'}
        : !place && known.some(p => p.location === at())
          ? {missing: 'There is such a location already.'}
          : !place && !isCode(at(), LOCATION_MAX)
            ? {missing: 'This is no code.'}
            : {
                what: [
                  code(at()),
                  ' is of kind ',
                  h('b', null, kind.value),
                  kind.value === 'incoming' &&
                    expected.value && ['; its units are expected at ', expected.value.replace('T', ' ')],
                  kind.value === 'stock' &&
                    waits.value && ['; units that become free there go to the queue of ', code(waits.value)],
                  '.',
                ],
                act: place ? 'Change it' : 'Make the location',
              },
    send: () => make(path`locations/${at()}`, body()),
    done: ({data}) => ['The location ', code(data.location), place ? ' is changed.' : ' is made.'],
  })
  forgetLocations()
  if (result) of.again()
  return result
}

/* ---- the list */

/* A location with its sums beside what is said of it. */
const withSums = p => Object.assign(p, p.stock)
const SUMS = [
  {head: 'skus', number: true, cell: p => number(p.skus)},
  only('available', 'stock', p => p.available),
  only('incoming', 'incoming', p => p.available),
  only('reserved', 'stock incoming', p => p.reserved),
  STOPPED,
  only('on hand', 'stock aside', p => p.on_hand),
]
const LISTED = [
  ...PLACE,
  ...SUMS,
  EXPECTED,
  {head: 'freed units go to', cell: p => (p.waits_at ? toPlace(p.waits_at) : '')},
  {head: 'reason', wide: true, cell: p => (p.reason ? said(p.reason) : '')},
]

function showList(page) {
  const list = new List(page, {
    table: new Table('Locations', LISTED, p => p.location),
    what: 'location',
    at: () => ['locations', {sums: true}],
    complete: items => items.forEach(withSums),
    empty: 'There is no location yet. The first goods make one.',
  })
  const of = {signal: page.signal, again: () => list.again()}
  const make = mayChangeStock() && button('New location', () => write(of, null), {class: 'primary push'})
  page.room.append(h('div', {class: 'bar'}, make), list.element)
}

/* ---- one location */

function show1(page) {
  const [location] = page.params,
    {room} = page
  page.title(code(location))
  let place = null
  const figures = h('section'),
    sums = h('div'),
    wrong = h('div'),
    acts = h('div', {class: 'buttons', hidden: true}),
    below = h('section')
  const of = {signal: page.signal, again: () => poll.now()},
    whole = {signal: page.signal, again: () => page.again()} /* another kind has other figures */,
    ofList = {signal: page.signal, again: () => list.again()}
  const read = async () => {
    const result = await page.get(path`locations/${location}` + '?sums=true')
    put(wrong, unread(result))
    if (result.ok) shown(withSums(result.data))
    return result
  }
  let list = null
  const what = ['at ', code(location)]
  const sheet = (kind, text, blind) =>
    h('a', {class: 'button', href: `#/sheet/${kind}` + query({location, blind})}, text)
  const turn = (text, does) =>
    asking(page, text, read, () => does(of, what, path`locations/${location}`), {hidden: true})
  const stop = turn('Stop the sale here', stopSales),
    start = turn('Sell here again', startSales)
  if (mayChangeStock())
    acts.append(
      sheet('receipt', 'Receive goods'),
      sheet('count', 'Count'),
      sheet('count', 'Count blind', true),
      asking(page, 'Change', read, () => write(whole, place)),
      h('span', {class: 'push'}),
      start,
      stop,
    )
  const shown = now => {
    place = now
    acts.hidden = false
    stop.hidden = place.kind === 'aside' || place.for_sale === false
    start.hidden = place.for_sale !== false
    put(
      figures,
      facts([
        ['Kind', new Map(KINDS).get(place.kind)],
        [
          'For sale',
          place.for_sale === false
            ? [state('not for sale'), place.reason && [': ', said(place.reason)]]
            : place.kind === 'aside'
              ? 'no'
              : 'yes',
        ],
        ['Expected', place.expected_at && time(place.expected_at)],
        ['Freed units go to the queue of', place.waits_at && toPlace(place.waits_at)],
      ]),
    )
    put(
      sums,
      facts(
        SUMS.map(c => [capital(c.head), c.cell(place)]),
        'facts across',
      ),
      h('p', {class: 'muted'}, 'Counted ', time(place.counted_at), '.'),
    )
    if (list) return
    list = stockAt(page, place, {threshold: (sku, stock) => threshold(ofList, sku, stock, location)})
    below.append(h('h2', null, 'What lies there'), sums, list.element)
  }
  room.append(h('p', null, h('a', {href: '#/locations'}, 'All locations')), wrong, acts, figures, below)
  const poll = page.poll(read, 5)
}

export const show = page => (page.name === 'location' && page.params[0] ? show1(page) : showList(page))
