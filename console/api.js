/* api.js - calls of the service. The key is kept for the tab and goes to the service's own calls only. */
import {button, clockIs, code, h, many, said, tableOf} from './dom.js'

const BASE = new URL('../', import.meta.url)
const KEY = 'holdfast-key'

export const session = {
  name: null,
  roles: [],
  service: '',
  instance: '',
  listeners: [],
  slow: [] /* told of a call that has had no answer for 3 s, by the time it was made; null: it has ended */,
  key: () => sessionStorage.getItem(KEY),
  keep: key => sessionStorage.setItem(KEY, key),
  forget: () => sessionStorage.removeItem(KEY),
}
export const may = (...roles) => session.roles.includes('admin') || roles.some(r => session.roles.includes(r))
export const mayChangeStock = () => session.roles.includes('admin')

/* path`reservations/${id}` with each value percent-encoded, once. */
const encode = text =>
  encodeURIComponent(text).replace(/[!'()*]/g, c => '%' + c.charCodeAt(0).toString(16).toUpperCase())
export const path = (parts, ...values) => parts.reduce((all, part, i) => all + encode(values[i - 1]) + part)
export function query(values) {
  const all = Object.entries(values).filter(([, v]) => v != null && v !== '' && v !== false)
  return all.length ? '?' + all.map(([n, v]) => n + '=' + encode(v)).join('&') : ''
}

const SLOW_MS = 3000
/* Tells the listeners if a call takes long -> to be called at its end. */
function watched() {
  const began = Date.now()
  let told = false
  const timer = setTimeout(() => {
    told = true
    session.slow.forEach(f => f(began))
  }, SLOW_MS)
  return () => {
    clearTimeout(timer)
    if (told) session.slow.forEach(f => f(null))
  }
}

/* Makes a call -> {ok, status, data, code, replayed}. It throws only if it was aborted.
 * code: of the problem, or `no_answer`. */
export async function call(method, at, body, {signal, text, ahead, timeout_s = 40} = {}) {
  const headers = {},
    key = session.key()
  if (key) headers.Authorization = 'Bearer ' + key
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const late = AbortSignal.timeout(timeout_s * 1000),
    ended = watched()
  try {
    const answer = await fetch(new URL(at.startsWith('/') ? at.slice(1) : 'v1/' + at, BASE), {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: 'no-store',
      credentials: 'omit',
      redirect: 'error',
      signal: signal ? AbortSignal.any([signal, late]) : late,
    })
    clockIs(answer.headers.get('Date'))
    if (answer.status === 401 && !ahead && key === session.key()) session.listeners.forEach(f => f())
    const read = answer.status === 204 ? '' : await answer.text()
    if (text && answer.ok) return {ok: true, status: answer.status, data: read}
    const data = read ? JSON.parse(read) : {}
    return {
      ok: answer.ok,
      status: answer.status,
      data,
      code: answer.ok ? null : (data.code ?? 'no_answer'),
      replayed: answer.headers.get('Idempotent-Replayed') === 'true',
    }
  } catch (e) {
    if (signal?.aborted) throw e
    return {ok: false, status: 0, data: {}, code: 'no_answer'}
  } finally {
    ended()
  }
}

/* The calls of the first page, asked before its module and its roles are there: path -> a result to come. */
const early = new Map()
export function askAhead(paths) {
  early.clear()
  for (const at of paths) early.set(at, call('GET', at, undefined, {ahead: true}))
}
export function get(at, options) {
  const asked = early.get(at)
  early.delete(at)
  return asked ?? call('GET', at, undefined, options)
}

/* A random id, made once for each change, so that a call that is sent again has the same id. Plain http has no
 * crypto.randomUUID. */
export function newId(what) {
  const bytes = crypto.getRandomValues(new Uint8Array(6))
  const day = new Date().toISOString().slice(0, 10).replaceAll('-', '')
  return `${what}-${day}-${[...bytes].map(b => b.toString(16).padStart(2, '0')).join('')}`
}

/* ---- codes in words */

const WORDS = {
  no_answer: [
    'The service did not answer.',
    'Whether the change was made is not known. Send the same call again: it has one effect.',
  ],
  busy: ['The service has too much to do; nothing was done.', 'Send the same call again.'],
  unavailable: ['The database does not answer; nothing was done.', 'Send the same call again when it is back.'],
  storage_full: ['The database has no room to write; nothing was done.', 'Send the same call again when there is.'],
  unknown_outcome: ['The database went away while it committed.', 'Send the same call again: it has one effect.'],
  rate_limited: [
    'This key calls too often, or holds as much as it may.',
    'Wait a moment, then send the same call again.',
  ],
  invalid_request: ['The service cannot read this.', 'Correct the field that is named.'],
  unauthorized: ['The key is not known.', 'Enter another key.'],
  key_expired: ['The key has expired, or was replaced.', 'Enter the new key.'],
  forbidden: ['This key may not do that.', 'A key of another role may.'],
  short: [
    'There are not enough units.',
    'Take fewer, or receive more first. Units of orders are free when those are released, or wait for others.',
  ],
  not_for_sale: ['Units at this location are not for sale.', 'Name another location.'],
  wrong_kind: ['The location is of another kind.', 'Name another location.'],
  in_use: ['Units or promises lie there.', 'Move them first.'],
  limit: ['A total would become too large.', ''],
  limit_reached: ['The customer would have more units than one may.', ''],
  customer_required: ['This sku has a limit for each customer, so the order must name one.', ''],
  count_mismatch: [
    'On hand is not what was expected any more.',
    'Units were moved meanwhile: look again, and count again.',
  ],
  over_returned: ['More comes back than was shipped.', ''],
  unknown_sku: ['There is no such sku.', 'Receive it first.'],
  unknown_order: ['There is no such order.', ''],
  unknown_location: ['There is no such location.', ''],
  unknown_movement: ['There is no such movement.', ''],
  unknown_task: ['There is no such task.', ''],
  unknown_webhook: ['There is no such webhook.', ''],
  unknown_job: ['There is no such job.', ''],
  not_found: ['There is nothing here.', ''],
  exists: ['This code is taken; nothing was done.', 'Choose another code.'],
  order_id_reused: ['This order id belongs to an order with other content.', 'Choose another id.'],
  movement_id_reused: ['This id belongs to a movement with other content.', 'Close this, and begin again.'],
  webhook_id_reused: ['This id belongs to another webhook.', 'Choose another id.'],
  not_in_order: ['These units are not in the order.', 'Take what it has.'],
  changed: ['The order has changed meanwhile.', 'Close this, and look again.'],
  nothing_left: ['A split leaves at least one unit in the first order.', 'Take fewer units.'],
  lease_lost: ['The task has lost its lease.', ''],
  claimed: ['A worker has the order.', 'Wait until it is done, or take the order from it.'],
  on_hold: ['The order is on hold.', 'Take it off hold first.'],
  waiting: ['Units of this order are not in the house yet.', ''],
  events_off: ['No events are kept (--events-keep 0).', ''],
  cursor_expired: ['What follows is no longer kept.', 'Go on with the oldest events that are.'],
  no_key_here: ['This service cannot open the secret of the webhook (--webhooks-key).', 'Ask one that can.'],
  too_large: ['This is too large.', ''],
  held: ['The order is held.', 'Confirm it first.'],
  confirmed: ['The order is confirmed already.', ''],
  settled: ['The order is shipped: its units have left.', ''],
  released: ['The order is released: its units went back.', ''],
  expired: ['The order has expired: its units went back.', ''],
  buried: ['Shipping the order failed.', 'Kick it or release it.'],
}
export const words = c => WORDS[c] ?? ['The service refused this.', '']
/* True: the same call may be sent again, and the service may have done it already. */
export const bearsRepeating = result => result.status === 0 || result.status === 503 || result.status === 429

const NAMES = {requested: 'asked for', in_order: 'in the order', on_hand: 'on hand', counted_at: 'counted at'}
function linesTable(lines) {
  const members = [...new Set(lines.flatMap(Object.keys))]
  const cell = v => (typeof v === 'number' ? v : code(Array.isArray(v) ? v.join(', ') : (v ?? '')))
  return [
    tableOf(
      members.map(m => NAMES[m] ?? m),
      lines.slice(0, 20).map(line => members.map(m => cell(line[m]))),
    ),
    lines.length > 20 && h('p', {class: 'muted'}, `and ${many(lines.length - 20, 'more line')}`),
  ]
}

/* Says in words why a call was refused or not answered, and what to do. With `read` (the call changes nothing): only
 * why, if the call may be sent again. */
export function problem(result, read = false) {
  const [what, then] = words(result.code),
    {detail, field, lines, parts} = result.data
  return h(
    'div',
    {class: 'problem', role: 'alert'},
    h('p', null, h('strong', null, what), ' ', read && bearsRepeating(result) ? '' : then),
    h(
      'p',
      {class: 'muted'},
      h('code', null, result.code),
      result.status ? ` ${result.status}` : '',
      field && [' · ', code(field)],
      detail && [' · ', said(detail)],
    ),
    Array.isArray(lines) && lines.length > 0 && linesTable(lines),
    Array.isArray(parts) &&
      parts.length > 0 &&
      h(
        'p',
        null,
        'Parts that have such units: ',
        parts.map(p => [code(p), ' ']),
      ),
  )
}

/* Says that a list or a fact could not be read, with a button to ask again; null: it was read. */
export const unread = (result, again) =>
  result.ok ? null : h('div', null, problem(result, true), again && button('Ask again', again))
