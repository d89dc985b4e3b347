/* movements.js - what moved one sku: on hand over time, and a list by kind, date and key. */
import {Table, button, code, fullTime, h, many, number, put, said, signed, time, toOrder} from './dom.js'
import {path, query} from './api.js'
import {field, unread} from './ask.js'
import {csv, saveCsv} from './export.js'
import {Plot} from './plots.js'

const PAGE = 1000,
  ROWS = 100
/* [the kind as the service calls it, its words] */
const KINDS = [
  ['receipt', 'receipt'],
  ['return', 'return'],
  ['adjustment', 'adjustment'],
  ['count', 'count'],
  ['settlement', 'shipment'],
  ['transfer', 'transfer'],
  ['arrival', 'arrival'],
]
const KIND_WORDS = new Map(KINDS)

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
function course(movements, stock) {
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

const byLine = show => m => m.lines.map((l, i) => [i > 0 && h('br'), show(l)])
const MOVED = [
  {head: 'when', cell: m => time(m.created_at)},
  {head: 'kind', cell: m => h('span', {title: m.kind}, KIND_WORDS.get(m.kind) ?? m.kind)},
  {head: 'units', number: true, cell: byLine(l => (l.from ? number(l.qty) : signed(l.qty)))},
  {head: 'where', cell: byLine(l => (l.from ? [code(l.from), ' → ', code(l.to)] : code(l.location)))},
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
/* The day that a field of type date names, from its first or to its last moment, in the reader's time zone. */
const dayStart = (text, days = 0) => {
  const [year, month, day] = text.split('-').map(Number)
  return new Date(year, month - 1, day + days).getTime()
}

/* {element, look(stock)}: look asks for the list at the first time, and when a balance has changed. It resolves to
 * whether something has changed. A balance gives what was on hand before each movement, so the list is kept without a
 * gap from the last one back. */
export function movementsOf(page, sku) {
  const plot = new Plot('On hand', [{label: 'on hand', unit: 'units', steps: true}], {signal: page.signal, height: 150})
  const table = new Table(`Movements of ${sku}`, MOVED, m => m.movement_id)
  const kind = field('Kind', {options: [['', 'all'], ...KINDS]}),
    by = field('By', {options: [['', 'all keys']]}),
    from = field('First day', {type: 'date'}),
    to = field('Last day', {type: 'date'})
  const bar = h(
    'form',
    {class: 'bar', 'aria-label': 'Movements'},
    [kind, by, from, to].map(f => f.element),
  )
  const none = h('p', {class: 'none', hidden: true}, 'No movement is like that.'),
    wrong = h('div'),
    more = h('div', {class: 'more'})
  let items = [],
    cursor = null,
    shown = ROWS,
    last = '',
    stock = null

  const like = m => {
    const at = Date.parse(m.created_at)
    return (
      (!kind.value || m.kind === kind.value) &&
      (!by.value || m.by === by.value) &&
      (!from.value || at >= dayStart(from.value)) &&
      (!to.value || at < dayStart(to.value, 1))
    )
  }
  const show = () => {
    const found = items.filter(like)
    table.show(found.slice(0, shown))
    table.element.hidden = !found.length
    none.hidden = found.length > 0 || !items.length
    const known = new Set([...by.input.options].map(o => o.value))
    for (const name of new Set(items.map(m => m.by).filter(name => name && !known.has(name))))
      by.input.append(h('option', {value: name}, name))
    by.element.hidden = by.input.options.length < 2
    more.replaceChildren(
      many(found.length, 'movement') +
        (found.length < items.length ? ` of ${number(items.length)}` : '') +
        (cursor ? ', the last ones' : ''),
      found.length > shown
        ? button('Show more', () => {
            shown += ROWS
            show()
          })
        : cursor
          ? button('Look further back', older)
          : '',
      found.length ? csv(() => saveCsv(table, items.filter(like))) : '',
    )
  }
  const ask = async at => {
    const result = await page.get(path`skus/${sku}/movements` + query({limit: PAGE, cursor: at}))
    put(wrong, unread(result))
    return result.ok ? result.data : null
  }
  const older = async () => {
    const mark = last,
      came = await ask(cursor)
    if (!came || mark !== last) return /* newer ones have come meanwhile, and the list begins again */
    items = items.concat(came.items)
    cursor = came.next_cursor
    plot.show(course(items, stock))
    show()
  }
  const choose = () => {
    shown = ROWS
    show()
  }
  /* Chooses the last 7 days, with today, and saves them when all of their movements are known. */
  const week = async () => {
    const day = new Date()
    day.setDate(day.getDate() - 6)
    from.input.value = fullTime(day).slice(0, 10)
    to.input.value = ''
    choose()
    while (cursor && Date.parse(items.at(-1).created_at) >= dayStart(from.value)) {
      await older()
      if (wrong.firstChild) return /* no answer */
    }
    saveCsv(table, items.filter(like))
  }
  bar.addEventListener('submit', event => event.preventDefault())
  bar.addEventListener('input', choose)
  return {
    element: h('div', null, h('h2', null, 'Movements'), wrong, plot.element, bar, none, table.element, more),
    async look(now) {
      const mark = JSON.stringify([now.on_hand, now.reserved, now.locations])
      if (mark === last) return false
      const came = await ask(null)
      if (!came) return false
      const changed = last !== ''
      if (!changed) bar.append(button('Last 7 days as CSV', week))
      last = mark
      stock = now
      /* Where the new page meets the known ones, those that were looked at further back stay. */
      const meets = items.findIndex(m => m.movement_id === came.items.at(-1)?.movement_id)
      items = came.items.concat(meets < 0 ? [] : items.slice(meets + 1))
      if (meets < 0) cursor = came.next_cursor
      plot.show(course(items, stock))
      show()
      return changed
    },
  }
}
