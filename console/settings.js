/* settings.js - what a shop says of a sku: its name and barcodes, the limit of customers, thresholds, and whether it is
 * for sale. Each change asks once, in a dialog. */
import {bold, code, h, many, number, units} from './dom.js'
import {call, path} from './api.js'
import {ask, field} from './ask.js'
import {SKU_MAX, isCode, locations, maker} from './known.js'

const put = (sku, body) => call('PUT', path`skus/${sku}`, body)
const then = (asked, of) =>
  asked.then(result => {
    of.again()
    return result
  })

/* The fields of a name and of barcodes, and what they say. */
function texts(stock) {
  const name = field('Name', {value: stock.name ?? '', maxlength: 200}),
    barcodes = field('Barcodes', {
      rows: 3,
      autofocus: Boolean(stock.name) /* the next barcode comes by a scanner */,
      value: (stock.barcodes ?? []).map(b => b + '\n').join(''),
      hint: 'One in each line, as a scanner types them.',
    })
  const list = () => [
    ...new Set(
      barcodes.value
        .split('\n')
        .map(line => line.trim())
        .filter(Boolean),
    ),
  ]
  return {
    fields: [name.element, barcodes.element],
    body: () => ({name: name.value || null, barcodes: list().length ? list() : null}),
    says: () => [
      name.value ? ['is called ', h('b', null, name.value)] : 'has no name',
      ', and has ',
      many(list().length, 'barcode'),
    ],
    missing: () => list().length > 20 && 'A sku has 20 barcodes at most.',
  }
}

export function details(of, sku, stock) {
  const said = texts(stock)
  return then(
    ask({
      title: ['Name and barcodes of ', code(sku)],
      fields: said.fields,
      say: () =>
        said.missing() ? {missing: said.missing()} : {what: [code(sku), ' ', said.says(), '.'], act: 'Change them'},
      send: () => put(sku, said.body()),
      done: () => ['The name and the barcodes of ', code(sku), ' are changed.'],
    }),
    of,
  )
}

/* A sku without units. */
export function newSku() {
  const sku = field('Code', {
      maxlength: SKU_MAX,
      required: true,
      hint: 'It stays for ever. Codes are compared letter by letter.',
    }),
    said = texts({}),
    make = maker()
  return ask({
    title: 'New sku',
    fields: [sku.element, ...said.fields],
    say: () =>
      !sku.value
        ? {missing: 'What is its code?'}
        : !isCode(sku.value, SKU_MAX)
          ? {missing: 'This is no code.'}
          : said.missing()
            ? {missing: said.missing()}
            : {what: [code(sku.value), ', which ', said.says(), ', has no units yet.'], act: 'Make the sku'},
    send: () => make(path`skus/${sku.value}`, said.body()),
    done: ({data}) => ['The sku ', code(data.sku), ' is made.'],
  }).then(result => {
    if (result) location.hash = '#/sku/' + encodeURIComponent(result.data.sku)
  })
}

export function limit(of, sku, stock) {
  const most = field('Units for each customer', {
    value: stock.per_customer ? String(stock.per_customer) : '',
    inputmode: 'numeric',
    hint: 'At most. Nothing: no limit.',
  })
  return then(
    ask({
      title: ['Limit of ', code(sku)],
      fields: [most.element],
      say: () =>
        most.value && !(most.int > 0)
          ? {missing: 'A whole number above 0, or nothing.'}
          : most.value
            ? {
                what: [
                  'One customer has at most ',
                  bold(most.int),
                  '. An order of it names its customer.',
                ],
                act: `At most ${units(most.int)}`,
              }
            : {what: 'One customer may have all of it.', act: 'No limit'},
      send: () => put(sku, {per_customer: most.value ? most.int : null}),
      done: ({data}) => [
        code(sku),
        data.per_customer ? `: at most ${units(data.per_customer)} for each customer.` : ' has no limit any more.',
      ],
    }),
    of,
  )
}

/* The dialogs that stop and start sales, of a sku or at a location. what: in words; path: of the call. */
export function stopSales(of, what, path) {
  const reason = field('Reason', {maxlength: 500, hint: 'Why, for later readers.'})
  return then(
    ask({
      title: ['Stop the sale ', what],
      fields: [reason.element],
      danger: true,
      say: () => ({
        what: [
          'No order gets units ',
          what,
          ' any more, from the answer on. Units that orders have stay theirs, and are shipped.',
        ],
        act: 'Stop the sale',
      }),
      send: () => call('PUT', path, {for_sale: false, ...(reason.value && {reason: reason.value})}),
      done: () => ['The sale ', what, ' is stopped.'],
    }),
    of,
  )
}
export function startSales(of, what, path) {
  return then(
    ask({
      title: ['Let the sale ', what, ' go on'],
      say: () => ({what: ['Orders get units ', what, ' again. What waits is served first.'], act: 'Sell again'}),
      send: () => call('PUT', path, {for_sale: true}),
      done: () => ['Sales ', what, ' go on.'],
    }),
    of,
  )
}
const ofSku = sku => ['of ', code(sku)]
export const stop = (of, sku) => stopSales(of, ofSku(sku), path`skus/${sku}`)
export const start = (of, sku) => startSales(of, ofSku(sku), path`skus/${sku}`)

/* A threshold over all places, or at one: `at` is offered first. */
export async function threshold(of, sku, stock, at = '') {
  const known = await locations(of.signal)
  const sells = known ? known.filter(p => p.kind === 'stock') : stock.locations.filter(p => p.kind === 'stock')
  const is = where => stock.thresholds?.find(t => (t.location ?? '') === where)?.low
  const where = field('Location', {
      options: [['', 'all together'], ...sells.map(p => [p.location, p.location])],
      value: at,
    }),
    what = field('Threshold', {
      options: [
        ['low', 'tell when it is low'],
        ['', 'none any more'],
      ],
    }),
    low = field('Low at', {
      inputmode: 'numeric',
      hint: 'At or below this many available units.',
      value: is(at) == null ? '' : String(is(at)),
    })
  where.input.addEventListener('change', () => {
    low.input.value = is(where.value) ?? ''
    low.input.dispatchEvent(new Event('input', {bubbles: true}))
  })
  return then(
    ask({
      title: ['Threshold of ', code(sku)],
      fields: [low.element, where.element, what.element],
      say: () =>
        what.value === ''
          ? {what: 'Nothing tells any more that it is low there.', act: 'Remove the threshold'}
          : !(low.int >= 0)
            ? {missing: 'A whole number of units.'}
            : {
                what: [
                  'It is low when ',
                  bold(low.int),
                  ' or fewer are available, ',
                  where.value ? ['at ', code(where.value)] : 'all together',
                  is(where.value) == null ? '.' : `; now ${number(is(where.value))}.`,
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
    }),
    of,
  )
}
