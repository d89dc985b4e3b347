/* together.js - ticked orders are confirmed, shipped, kicked or released together; each is judged by itself. */
import {are, bold, button, commas, h, many, number, put, toOrder, units} from './dom.js'
import {call, path} from './api.js'
import {ask} from './ask.js'
import {ACTS, fits} from './changes.js'
import {unitsOf} from './orders.js'

const AT_ONCE = 500
/* [the act of one order, the call for many or null, what is done, what becomes of their units] */
const TOGETHER = [
  ['Confirm', 'confirmations', 'confirmed', ['is kept', 'are kept']],
  ['Ship', 'settlements', 'shipped', ['leaves the stock', 'leave the stock']],
  ['Kick', null, 'given to the workers again', ['stays promised', 'stay promised']],
  ['Release', 'releases', 'released', ['goes back', 'go back']],
]
/* An order of which a part waits cannot be shipped whole. */
const suits = (order, act) => fits(order, act) && (act.text !== 'Ship' || !order.lines.some(l => l.waiting))

/* The orders of one call -> a result of call() with {results}: an order at a time where there is no call for many. */
async function sent(at, orders) {
  const ids = orders.map(o => o.order_id)
  if (at) return call('POST', at, {order_ids: ids})
  const result = await call('POST', path`reservations/${ids[0]}/kick`, {})
  if (!result.ok && result.status !== 404 && result.status !== 409) return result
  return {ok: true, data: {results: [{order_id: ids[0], status: result.status, code: result.code}]}}
}

function together([text, at, done, become], act, orders) {
  const sum = orders.reduce((n, o) => n + unitsOf(o), 0),
    refused = [],
    step = at ? AT_ONCE : 1
  let from = 0
  return ask({
    title: `${text} ${many(orders.length, 'order')}`,
    danger: act.danger,
    say: () => ({
      what: [
        h('b', null, many(orders.length, 'order')),
        ': ',
        bold(sum),
        ` ${are(sum, ...become)}: `,
        commas(orders.slice(0, 10), o => toOrder(o.order_id)),
        orders.length > 10 && `, and ${many(orders.length - 10, 'more order')}`,
        '.',
      ],
      act: `${text} ${many(orders.length, 'order')}`,
    }),
    send: async tell => {
      for (; from < orders.length; from += step) {
        tell(`${number(from)} of ${number(orders.length)} …`)
        const result = await sent(at, orders.slice(from, from + step))
        if (!result.ok) return result
        refused.push(...result.data.results.filter(r => r.status !== 200))
      }
      return {ok: true, data: {}}
    },
    done: () => [
      `${many(orders.length - refused.length, 'order is', 'orders are')} ${done}.`,
      refused.length > 0 && [
        ` ${many(refused.length, 'was', 'were')} refused: `,
        commas(refused.slice(0, 5), r => [toOrder(r.order_id), ` (${r.code})`]),
        refused.length > 5 && ' …',
        '.',
      ],
    ],
  })
}

/* {all, column, element, see(items)}: a button that ticks all, a column of boxes, and the buttons for ticked orders.
 * again(): after a change. see(items) takes the orders as they are listed now; one that is no more listed is not ticked
 * any more. */
export function ticks(again) {
  let chosen = new Set(),
    items = []
  const element = h('div', {class: 'buttons ticked', role: 'group', 'aria-label': 'Ticked orders'})
  let offered = ''
  const show = () => {
    const orders = items.filter(o => chosen.has(o.order_id))
    const mark = JSON.stringify(orders.map(o => [o.order_id, o.version]))
    if (mark === offered) return
    offered = mark
    const offers = TOGETHER.map(one => {
      const act = ACTS.find(a => a.text === one[0]),
        fitting = orders.filter(o => suits(o, act))
      return (
        fitting.length > 0 &&
        button(
          `${one[0]} ${number(fitting.length)}`,
          async () => {
            await together(one, act, fitting)
            again()
          },
          {title: act.title, class: act.danger ? 'push apart' : null},
        )
      )
    }).filter(Boolean)
    if (!orders.length) return put(element)
    element.replaceChildren(h('span', {class: 'muted'}, `${many(orders.length, 'order')} ticked`), ...offers)
  }
  const all = button(
    'Tick all',
    () => {
      const every = items.every(o => chosen.has(o.order_id))
      chosen = new Set(every ? [] : items.map(o => o.order_id))
      for (const box of document.querySelectorAll('td.tick input')) box.checked = !every
      show()
    },
    {hidden: true},
  )
  return {
    all,
    element,
    column: {
      head: '',
      tick: true,
      cell: o =>
        h('input', {
          type: 'checkbox',
          checked: chosen.has(o.order_id),
          'aria-label': `Tick ${o.order_id}`,
          onchange: event => {
            chosen[event.target.checked ? 'add' : 'delete'](o.order_id)
            show()
          },
        }),
    },
    see: now => {
      items = now
      all.hidden = !items.length
      chosen = new Set(items.map(o => o.order_id).filter(id => chosen.has(id)))
      show()
    },
  }
}
