/* changes.js - dialogs of one order: what may be done with it, and when. */
import {
  are,
  bold,
  code,
  commas,
  fullTime,
  h,
  many,
  now,
  number,
  said,
  signed,
  stateWord,
  time,
  toOrder,
  toSku,
  units,
} from './dom.js'
import {call, may, newId, path} from './api.js'
import {ask, field} from './ask.js'
import {locations} from './known.js'
import {before, lineRows, linesInWords, unitsOf} from './orders.js'

const at = (verb, order) => path`reservations/${order.order_id}/` + verb
const isNow = ({data, replayed}) => [
  'Order ',
  code(data.order_id),
  ' is ',
  stateWord(data.state),
  '.',
  before(replayed),
]
const sum = lines => lines.reduce((n, l) => n + l.qty, 0)
const waits = l => l.waiting === true
const taken = order => (order.task?.state === 'open' ? order.task : null)
/* What a change does to a worker that has the order. */
const fromWorker = order =>
  taken(order) ? [' The worker ', code(order.task.worker), ' loses it, and may have shipped it already.'] : ''
/* The choice about such a worker, where there is one. */
function force(order) {
  const choice = field('A worker has it', {
    options: [
      ['', 'leave it to the worker'],
      ['yes', 'take it away from the worker'],
    ],
  })
  return {inputs: taken(order) ? [choice.element] : [], member: () => (choice.value ? {force: true} : {})}
}

/* A field for the units of each line, from(line) at first. lines(): those with units; missing(): why not yet. */
function amounts(lines, label, from) {
  const all = lines.map(l => [l, field(label(l), {value: String(from(l)), inputmode: 'numeric'})])
  return {
    inputs: all.map(([, f]) => f.element),
    lines: () => all.filter(([, f]) => f.int > 0).map(([l, f]) => ({...l, qty: f.int})),
    missing: () => {
      const over = all.find(([l, f]) => f.int > l.qty)
      return all.some(([, f]) => !(f.int >= 0))
        ? 'Whole numbers of units.'
        : over
          ? `Only ${units(over[0].qty)} of ${over[0].sku} ${are(over[0].qty, 'is', 'are')} there.`
          : null
    },
  }
}
const ofLine = l => `${l.sku} at ${l.location}, of ${number(l.qty)}`
const asked = ({sku, location, qty}) => ({sku, location, qty})

function simple(title, verb, sentence, button_text, more = {}) {
  return order =>
    ask({
      title: [title, ' ', code(order.order_id)],
      say: () => ({what: sentence(order), act: button_text(order)}),
      send: () => call('POST', at(verb, order), more.body ?? {}),
      done: isNow,
      danger: more.danger,
    })
}

const release = simple(
  'Release',
  'release',
  o => [
    bold(unitsOf(o)),
    are(unitsOf(o), ' goes back: ', ' go back: '),
    linesInWords(o.lines),
    '.',
    fromWorker(o),
  ],
  o => `Release ${units(unitsOf(o))}`,
  {danger: true},
)
const confirmIt = simple(
  'Confirm',
  'confirm',
  o => [
    bold(unitsOf(o)),
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
    bold(unitsOf(o)),
    are(
      unitsOf(o),
      ' is held again and confirmed, if it can still be had: ',
      ' are held again and confirmed, if they can still be had: ',
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
    bold(unitsOf(o)),
    '. Its last error: ',
    o.last_error ? said(o.last_error) : 'none',
    '.',
  ],
  o => `Kick ${units(unitsOf(o))}`,
)

/* All of the order leaves, or some of it under an id of its own. A failed order leaves as a whole. */
function ship(order) {
  const part = newId(order.order_id.slice(0, 30)),
    worker = force(order),
    here = order.lines.filter(l => !waits(l)),
    some = order.state === 'confirmed' && unitsOf(order) > 1 ? amounts(here, ofLine, l => l.qty) : null,
    lines = () => some?.lines() ?? here,
    whole = () => sum(lines()) === unitsOf(order)
  return ask({
    title: ['Ship ', code(order.order_id)],
    fields: [...(some?.inputs ?? []), ...worker.inputs],
    say: () => {
      const missing = some?.missing(),
        leaving = sum(lines()),
        stays = unitsOf(order) - leaving
      if (missing) return {missing}
      if (!leaving) return {missing: 'How many units leave?'}
      return {
        what: [
          bold(leaving),
          are(leaving, ' leaves the stock: ', ' leave the stock: '),
          linesInWords(lines()),
          '.',
          stays > 0 && ` ${units(stays)} ${are(stays, 'stays', 'stay')} in the order.`,
        ],
        act: `Ship ${units(leaving)}`,
      }
    },
    send: () =>
      whole()
        ? call('POST', at('settle', order), worker.member())
        : call('POST', at('split', order), {
            order_id: part,
            lines: lines().map(asked),
            then: 'settle',
            ...worker.member(),
          }),
    done: result =>
      whole()
        ? isNow(result)
        : [units(unitsOf(result.data)), ' shipped, as ', toOrder(part), '.', before(result.replayed)],
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
              bold(unitsOf(order)),
              are(unitsOf(order), ' is', ' are'),
              ` held until ${fullTime(now() + minutes.int * 60000)}, not ${fullTime(order.expires_at)}.`,
            ],
            act: `Hold ${units(unitsOf(order))} for ${number(minutes.int)} min`,
          },
    send: () => call('POST', at('extend', order), {ttl_s: minutes.int * 60}),
    done: ({data}) => ['Order ', code(data.order_id), ' is held until ', time(data.expires_at), '.'],
  })
}

/* The time is said once, so that a call that is sent again is the same one. */
function putOnHold(order) {
  const reason = field('Reason', {maxlength: 500}),
    days = field('For how many days', {inputmode: 'numeric', hint: 'Nothing: until it is taken off hold.'})
  let until = null
  return ask({
    title: ['Put ', code(order.order_id), ' on hold'],
    fields: [reason.element, days.element],
    say: () => {
      if (days.value && !(days.int > 0 && days.int <= 400)) return {missing: 'For how many days, 400 at most?'}
      until = days.value ? new Date(now() + days.int * 86400000).toISOString() : null
      return {
        what: [
          bold(unitsOf(order)),
          are(unitsOf(order), ' is', ' are'),
          ` not shipped ${until ? 'before ' + fullTime(until) : 'until the order is taken off hold'}.`,
        ],
        act: 'Put on hold',
      }
    },
    send: () => call('PUT', at('hold', order), {until, ...(reason.value && {reason: reason.value})}),
    done: ({data, replayed}) => ['Order ', code(data.order_id), ' is on hold.', before(replayed)],
  })
}

const takeOffHold = order =>
  ask({
    title: ['Take ', code(order.order_id), ' off hold'],
    say: () => ({
      what: [
        bold(unitsOf(order)),
        ' may be shipped',
        order.state === 'held' ? ' once the order is confirmed.' : ' again.',
      ],
      act: 'Take off hold',
    }),
    send: () => call('DELETE', at('hold', order)),
    done: ({data, replayed}) => ['Order ', code(data.order_id), ' is not on hold any more.', before(replayed)],
  })

/* Other units of its lines, and other lines. A line without units is taken out. */
async function change(order, page) {
  const worker = force(order),
    now = order.lines.map(l => [l, field(`${l.sku} at ${l.location}`, {value: String(l.qty), inputmode: 'numeric'})]),
    rows = lineRows(await locations(page.signal)),
    added = () => rows.lines().filter(l => l.sku)
  /* [sku, location, units more or fewer] of all that becomes different. */
  const differences = () => [
    ...now.map(([l, f]) => [l.sku, l.location, f.int - l.qty]).filter(([, , by]) => by !== 0),
    ...added().map(l => [l.sku, l.location, l.qty]),
  ]
  const lines = () => [...now.filter(([, f]) => f.int > 0).map(([l, f]) => ({...asked(l), qty: f.int})), ...added()]
  return ask({
    title: ['Change the lines of ', code(order.order_id)],
    fields: [...now.map(([, f]) => f.element), h('h3', null, 'More lines'), rows.element, ...worker.inputs],
    say: () => {
      const differ = differences()
      if (now.some(([, f]) => !(f.int >= 0))) return {missing: 'Whole numbers of units. 0 takes a line out.'}
      if (added().some(l => !(l.qty > 0) || !l.location))
        return {missing: 'Each line names a sku, a whole number of units and a location.'}
      if (!differ.length) return {missing: 'Nothing is different.'}
      if (!lines().length) return {missing: 'Some units stay in this order; otherwise release it.'}
      return {
        what: [
          'The order has ',
          bold(sum(lines())),
          ' then: ',
          commas(differ, ([sku, where, by]) => [signed(by), ' × ', code(sku), ' at ', code(where)]),
          '.',
        ],
        act: `Change to ${units(sum(lines()))}`,
      }
    },
    send: () =>
      call('PUT', path`reservations/${order.order_id}`, {
        lines: lines(),
        if_version: order.version,
        ...worker.member(),
      }),
    done: ({data, replayed}) => ['Order ', code(data.order_id), ' has ', units(unitsOf(data)), '.', before(replayed)],
  })
}

const THEN = {held: ['confirm', 'release'], confirmed: ['settle', 'release']}
const THEN_WORDS = {confirm: 'confirm the new one', release: 'release the new one', settle: 'ship the new one'}
function split(order) {
  const id = field('Id of the new order', {value: newId(order.order_id.slice(0, 30)), maxlength: 64, required: true})
  const then = field('Then', {
    options: [
      ['', 'leave it as the first is'],
      ...THEN[order.state].filter(t => (t === 'settle' ? may('worker') : may('order'))).map(t => [t, THEN_WORDS[t]]),
    ],
  })
  const part = amounts(order.lines, ofLine, () => 0),
    worker = force(order)
  return ask({
    title: ['Split ', code(order.order_id)],
    fields: [...part.inputs, id.element, then.element, ...worker.inputs],
    say: () => {
      const leaving = sum(part.lines()),
        missing = part.missing(),
        stays = unitsOf(order) - leaving
      if (missing) return {missing}
      if (!leaving) return {missing: 'How many units leave this order?'}
      if (!stays) return {missing: 'Some units stay in this order.'}
      return {
        what: [
          bold(leaving),
          are(leaving, ' goes to ', ' go to '),
          code(id.value),
          then.value ? `, then ${THEN_WORDS[then.value]}` : '',
          `; ${units(stays)} ${are(stays, 'stays', 'stay')}.`,
          then.value !== 'settle' && fromWorker(order),
        ],
        act: `Split off ${units(leaving)}`,
      }
    },
    send: () =>
      call('POST', at('split', order), {
        order_id: id.value,
        lines: part.lines().map(asked),
        ...(then.value && {then: then.value}),
        ...(then.value === 'settle' && worker.member()),
      }),
    done: ({data, replayed}) => [
      units(unitsOf(data)),
      ': in ',
      toOrder(data.order_id),
      ' now, which is ',
      stateWord(data.state),
      '.',
      before(replayed),
    ],
  })
}

/* The units by sku that were shipped and have not come back. */
export function returnable(order) {
  const left = new Map()
  for (const l of order.lines) left.set(l.sku, (left.get(l.sku) ?? 0) + l.qty)
  for (const r of order.returned ?? []) left.set(r.sku, left.get(r.sku) - r.qty)
  return [...left].filter(([, qty]) => qty > 0).map(([sku, qty]) => ({sku, qty}))
}

/* At an incoming location nothing lies, so nothing comes back to it. */
async function takeBack(order, page) {
  const movement_id = newId('return'),
    known = ((await locations(page.signal)) ?? []).filter(p => p.kind !== 'incoming'),
    left = returnable(order),
    from = order.lines[0].location
  const back = amounts(
      left,
      l => `${l.sku}, of ${number(l.qty)}`,
      l => (left.length === 1 && l.qty === 1 ? 1 : 0),
    ),
    where = field('They are put to', {
      options: known.map(p => [p.location, p.kind === 'stock' ? p.location : `${p.location} (${p.kind})`]),
      value: known.some(p => p.location === from) ? from : known[0]?.location,
    }),
    reason = field('Reason', {maxlength: 500})
  const lines = () => back.lines().map(l => ({...l, location: where.value}))
  return ask({
    title: ['Return of ', code(order.order_id)],
    fields: [...back.inputs, where.element, reason.element],
    say: () => {
      const came = sum(lines()),
        missing = back.missing()
      if (missing) return {missing}
      if (!came) return {missing: 'How many units came back?'}
      return {
        what: [bold(came), are(came, ' comes back: ', ' come back: '), linesInWords(lines()), '.'],
        act: `Take back ${units(came)}`,
      }
    },
    send: () =>
      call('POST', 'movements', {
        movement_id,
        kind: 'return',
        order_id: order.order_id,
        lines: lines(),
        create: false,
        ...(reason.value && {reason: reason.value}),
      }),
    done: ({data, replayed}) => [
      'Taken back of ',
      code(order.order_id),
      ': ',
      commas(data.lines, l => [number(l.qty), ' × ', toSku(l.sku)]),
      '.',
      before(replayed),
    ],
  })
}

const canShip = o => !o.on_hold && (o.state === 'buried' ? !o.lines.some(waits) : !o.lines.every(waits))

/* What may be done: {text, title, does(order, page), states, roles, if: what else holds, danger: it stands apart}. */
export const ACTS = [
  {
    text: 'Confirm',
    title: 'The units are kept until it is shipped.',
    does: confirmIt,
    states: ['held'],
    roles: ['order'],
  },
  {
    text: 'Confirm anyway',
    title: 'If its units can still be had.',
    does: reacquire,
    states: ['expired'],
    roles: ['order'],
  },
  {
    text: 'Ship',
    title: 'All or some of its units leave the house. Holdfast: settle',
    does: ship,
    states: ['confirmed', 'buried'],
    roles: ['worker'],
    if: canShip,
  },
  {
    text: 'Kick',
    title: 'It goes back to the workers, which try again.',
    does: kick,
    states: ['buried'],
    roles: ['order', 'worker'],
  },
  {
    text: 'Return',
    title: 'Units come back from the customer.',
    does: takeBack,
    states: ['settled'],
    roles: ['order'],
    if: o => returnable(o).length > 0,
  },
  {text: 'Extend', title: 'The hold lasts longer.', does: extend, states: ['held'], roles: ['order']},
  {
    text: 'Change lines',
    title: 'Other units, or other skus.',
    does: change,
    states: ['held', 'confirmed'],
    roles: ['order'],
  },
  {
    text: 'Split',
    title: 'Some units get an order of their own.',
    does: split,
    states: ['held', 'confirmed'],
    roles: ['order'],
    if: o => unitsOf(o) > 1,
  },
  {
    text: 'Put on hold',
    title: 'It is not shipped meanwhile.',
    does: putOnHold,
    states: ['held', 'confirmed', 'buried'],
    roles: ['order'],
    if: o => !o.on_hold,
  },
  {
    text: 'Take off hold',
    title: 'It may be shipped.',
    does: takeOffHold,
    states: ['held', 'confirmed', 'buried'],
    roles: ['order'],
    if: o => o.on_hold,
  },
  {
    text: 'Release',
    title: 'The order ends, and its units are for sale again.',
    does: release,
    states: ['held', 'confirmed', 'buried'],
    roles: ['order'],
    danger: true,
  },
]
export const fits = (order, act) =>
  act.states.includes(order.state) && may(...act.roles) && (!act.if || Boolean(act.if(order)))
