/* moving.js - movements of one sku: each asks once, in a dialog, and is one call with an id of its own. */
import {are, bold, code, commas, many, number, signed, toOrder, units} from './dom.js'
import {call, newId} from './api.js'
import {ask, field} from './ask.js'
import {forgetLocations, homeOf, isNewPlace, locations} from './known.js'

/* The end of a sentence that names a location, which a typing error makes, too. */
const isNew = (known, location) => (isNewPlace(known, location) ? ', a new location for sale.' : '.')
const WHY = {hint: 'Why, for later readers.', maxlength: 500}
/* The end of an outcome. */
export const asMovement = (data, replayed) => [
  replayed && ' It had been done before.',
  ' Movement ',
  code(data.movement_id),
  '.',
]

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
    done: ({data, replayed}) => [done(data), asMovement(data, replayed)],
  })
  forgetLocations()
  of.again()
  return result
}

const UNITS = {inputmode: 'numeric', required: true}

export async function receive(of, sku) {
  const known = await locations(of.signal)
  const where = field('Location', {value: homeOf(known), list: (known ?? []).map(p => p.location), maxlength: 64}),
    amount = field('Units', UNITS)
  const at = () => where.value
  const promised = () => known?.find(p => p.location === at())?.kind === 'incoming'
  return move({
    title: ['Receive ', code(sku)],
    of,
    kind: 'receipt',
    inputs: [amount, where],
    say: () =>
      !(amount.int > 0)
        ? {missing: 'How many units come in? A whole number above 0.'}
        : !at()
          ? {missing: 'At which location?'}
          : {
              what: [
                promised() ? 'Promise ' : 'Receive ',
                bold(amount.int),
                ' of ',
                code(sku),
                ' at ',
                code(at()),
                isNew(known, at()),
              ],
              act: `${promised() ? 'Promise' : 'Receive'} ${units(amount.int)}`,
            },
    lines: () => [{sku, location: at(), qty: amount.int}],
    done: ({lines: [l]}) => [
      promised() ? 'Promised ' : 'Received ',
      units(l.qty),
      ' of ',
      code(l.sku),
      ' at ',
      code(l.location),
      '.',
    ],
  })
}

export async function count(of, sku, stock) {
  const taken = losses(await locations(of.signal))
  const all = stock.locations.filter(p => p.kind !== 'incoming')
  const where = field('Location', {options: all.map(p => [p.location, p.location]), value: all[0]?.location}),
    counted = field('Counted', UNITS)
  const at = () => all.find(p => p.location === where.value)
  return move({
    title: ['Count ', code(sku)],
    of,
    kind: 'count',
    inputs: [counted, where, ...taken.inputs],
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
          bold(counted.int),
          ' on hand: ',
          off === 0
            ? 'as it was known'
            : `${units(Math.abs(off))} ${off < 0 ? 'fewer' : 'more'} than the ${number(place.on_hand)} that ` +
              are(place.on_hand, 'was known', 'were known'),
          '.',
          taken.says(place.kind),
        ],
        act: `Set on hand to ${units(counted.int)}`,
      }
    },
    lines: () => [
      {sku, location: where.value, counted: counted.int, expected: at().on_hand, ...taken.member(at().kind)},
    ],
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

/* The field that chooses what happens to orders if their units are missing. `known`: all locations; without an incoming
 * one there is no choice. kind: of the location that loses units. */
export function losses(known, value = '') {
  const coming = (known ?? []).filter(p => p.kind === 'incoming')
  const choice = field('If orders have such units', {
    options: [['', 'refuse it'], ...coming.map(p => [p.location, `let them wait at ${p.location}`])],
    value,
  })
  const chosen = kind => coming.length > 0 && choice.value && kind === 'stock'
  return {
    choice,
    inputs: coming.length ? [choice] : [],
    member: kind => (chosen(kind) ? {short: 'backorder', to: choice.value} : {}),
    says: (kind = 'stock') => (chosen(kind) ? [' Orders that lose units wait at ', code(choice.value), '.'] : ''),
  }
}
export const lost = ({backordered: of = []}) =>
  of.length > 0 && [
    ` ${many(of.length, 'order')} ${are(of.length, 'waits', 'wait')} for others: `,
    commas(of.slice(0, 5), b => toOrder(b.order_id)),
    of.length > 5 ? ' …' : '.',
  ]
/* Finds the line of a location: a movement that took units from orders also has a line for the location at which they
 * wait. */
const lineAt = (data, where) => data.lines.find(l => l.location === where)

export async function transfer(of, sku, stock) {
  const known = await locations(of.signal)
  const from = field('From', {
      options: stock.locations.map(p => [p.location, `${p.location} (${number(p.available)} free)`]),
    }),
    to = field('To', {list: (known ?? []).map(p => p.location), maxlength: 64, required: true}),
    amount = field('Units', UNITS)
  return move({
    title: ['Transfer ', code(sku)],
    of,
    kind: 'transfer',
    inputs: [amount, from, to],
    say: () =>
      !to.value || to.value === from.value
        ? {missing: 'To which other location?'}
        : !(amount.int > 0)
          ? {missing: 'How many units? A whole number above 0.'}
          : {
              what: [
                'Move ',
                bold(amount.int),
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
    done: ({lines: [l]}) => [
      'Moved ',
      units(l.qty),
      ' of ',
      code(sku),
      ' from ',
      code(l.from),
      ' to ',
      code(l.to),
      '.',
    ],
  })
}

export async function arrive(of, sku, stock) {
  const known = await locations(of.signal)
  const coming = stock.locations.filter(p => p.kind === 'incoming' && p.available + p.reserved > 0)
  const from = field('From', {
      options: coming.map(p => [p.location, `${p.location} (${number(p.available + p.reserved)} promised)`]),
    }),
    to = field('To', {
      value: homeOf(known),
      list: (known ?? []).filter(p => p.kind === 'stock').map(p => p.location),
      maxlength: 64,
    }),
    amount = field('Units', UNITS)
  return move({
    title: ['Arrival of ', code(sku)],
    of,
    kind: 'arrival',
    inputs: [amount, from, to],
    say: () =>
      !to.value
        ? {missing: 'Where do they arrive?'}
        : !(amount.int > 0)
          ? {missing: 'How many units have come? A whole number above 0.'}
          : {
              what: [
                bold(amount.int),
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
    done: ({lines: [{qty, filled = 0, for_sale = 0, waiting}]}) => [
      units(qty),
      ' of ',
      code(sku),
      ' came: ',
      units(filled),
      ' went to orders, ',
      units(for_sale),
      are(for_sale, ' is for sale', ' are for sale'),
      waiting ? `, ${units(waiting)} ${are(waiting, 'is', 'are')} being handed out` : '',
      '.',
    ],
  })
}

export async function adjust(of, sku, stock) {
  const taken = losses(await locations(of.signal))
  const at = () => stock.locations.find(p => p.location === where.value)
  const where = field('Location', {options: stock.locations.map(p => [p.location, p.location])}),
    change = field('Change', {...UNITS, inputmode: 'text', hint: 'With its sign: -6 takes six out, +6 brings six in.'})
  return move({
    title: ['Adjust ', code(sku)],
    of,
    kind: 'adjustment',
    inputs: [change, where, ...taken.inputs],
    say: () =>
      !change.int
        ? {missing: 'By how many units? A whole number with its sign.'}
        : {
            what: [
              change.int < 0 ? 'Take ' : 'Add ',
              bold(Math.abs(change.int)),
              ' of ',
              code(sku),
              change.int < 0 ? ' out at ' : ' at ',
              code(where.value),
              '.',
              change.int < 0 && taken.says(at().kind),
            ],
            act: `${change.int < 0 ? 'Take out' : 'Add'} ${units(Math.abs(change.int))}`,
          },
    lines: () => [{sku, location: where.value, qty: change.int, ...(change.int < 0 && taken.member(at().kind))}],
    done: data => ['Adjusted ', code(sku), ' by ', signed(lineAt(data, where.value).qty), '.', lost(data)],
  })
}
