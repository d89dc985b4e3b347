/* events.js - the feed, live, and webhooks. */
import {
  Table,
  button,
  code,
  commas,
  facts,
  h,
  many,
  now,
  number,
  put,
  said,
  section,
  signed,
  span,
  state,
  time,
  toOrder,
  toSku,
} from './dom.js'
import {call, may, newId, path, query} from './api.js'
import {announce, ask, asking, field, problem, showOnce, unread} from './ask.js'
import {saveCsv} from './export.js'
import {List} from './list.js'

const PAGE = 500,
  PAGES_AT_FIRST = 20,
  PAGES_A_LOOK = 4,
  SHOWN = 200,
  SAVED_MAX = 100000
const TYPES = {
  reservation: [
    'held',
    'confirmed',
    'extended',
    'released',
    'expired',
    'settled',
    'buried',
    'kicked',
    'split',
    'replaced',
    'arrived',
    'backordered',
    'changed',
    'on_hold',
    'off_hold',
  ],
  movement: ['receipt', 'adjustment', 'return', 'count', 'transfer', 'arrival', 'settlement'],
  stock: ['out', 'low', 'back', 'changed'],
}
const ALL = Object.entries(TYPES).flatMap(([noun, verbs]) => verbs.map(verb => `${noun}.${verb}`))
const GROUPS = {reservation: 'orders', movement: 'movements', stock: 'levels'}
const typesOf = choice => (TYPES[choice] ? TYPES[choice].map(verb => `${choice}.${verb}`).join(',') : choice)
const BACK = [
  ['60', 'a minute ago'],
  ['600', 'ten minutes ago'],
  ['3600', 'an hour ago'],
  ['', 'the oldest that is kept'],
  ['now', 'now'],
]

/* ---- the feed */

function subject({data, type}) {
  if (data.order_id && type.startsWith('reservation')) return toOrder(data.order_id)
  if (data.movement_id) return code(data.movement_id)
  if (data.sku) return toSku(data.sku)
  return data.items ? many(data.items.length, 'sku') : ''
}
function tale({data, type, cause}) {
  const lines = commas((data.lines ?? []).slice(0, 3), l => [
    type.startsWith('movement') && !l.from ? signed(l.qty) : number(l.qty),
    ' × ',
    toSku(l.sku),
    ' ',
    l.from ? [code(l.from), ' → ', code(l.to)] : ['at ', code(l.location)],
  ])
  return [
    data.lines
      ? [lines, data.lines.length > 3 && `, and ${many(data.lines.length - 3, 'more line')}`, data.lines_cut && ' …']
      : data.sku
        ? [
            `${number(data.available)} available`,
            data.location ? [' at ', code(data.location)] : '',
            data.low != null && `, low at ${number(data.low)}`,
          ]
        : data.items
          ? commas(data.items.slice(0, 3), i => [toSku(i.sku), ` ${number(i.available)}`])
          : '',
    data.last_error && type === 'reservation.buried' && [' · ', said(data.last_error)],
    cause != null && [' · by ', code(cause)],
  ]
}
const EVENTS = [
  {head: 'at', cell: e => time(e.at)},
  {head: 'type', cell: e => e.type},
  {head: 'of', cell: subject},
  {head: 'what', wide: true, cell: tale},
  {head: 'by', cell: e => (e.by ? code(e.by) : '')},
]

function feed(page) {
  const types = field('Types', {options: [['', 'all'], ...Object.entries(GROUPS), ...ALL.map(t => [t, t])]})
  const from = field('From', {options: BACK, value: '600'})
  const table = new Table('Events, newest first', EVENTS, e => e.id),
    told = h('p', {class: 'muted', 'aria-live': 'off'}, 'Looking …'),
    wrong = h('div')
  let after,
    start /* where the list begins */,
    items,
    seen,
    round = 0,
    stopped = false,
    skipped = false
  const begin = () => {
    round++
    items = []
    seen = 0
    skipped = false
    after = from.value === 'now' ? 'now' : from.value === '' ? null : new Date(now() - from.value * 1000).toISOString()
    start = after
    table.show([])
  }
  begin()
  const show = () => {
    table.show(items)
    table.element.hidden = !items.length
    put(
      told,
      `${many(seen, 'event')}`,
      seen > SHOWN ? `, the last ${SHOWN} are shown` : '',
      '. ',
      skipped ? 'Some were left out: they come faster than this page reads. ' : '',
      stopped ? 'Stopped.' : 'Goes on live.',
    )
  }
  const read = at => page.get('events' + query({after: at, limit: PAGE, types: typesOf(types.value)}))
  const poll = page.poll(async signal => {
    if (stopped) return null
    const mine = round,
      most = seen ? PAGES_A_LOOK : PAGES_AT_FIRST
    for (let pages = 1; ; pages++) {
      const result = await read(after)
      if (mine !== round) return null
      put(wrong, unread(result))
      if (result.code === 'cursor_expired') start = after = null /* the kept events begin later */
      if (!result.ok) return result.status === 409 || result.status === 410 ? null : result
      seen += result.data.items.length
      items = [...result.data.items.reverse(), ...items].slice(0, SHOWN)
      after = result.data.next_cursor
      if (start === 'now') start = after
      show()
      if (!result.data.more) return result
      if (pages >= most) {
        skipped = true
        after = 'now'
      }
    }
  }, 2)
  /* All events of the list, also those that are not shown. */
  const save = async () => {
    const all = []
    for (let at = start, more = true; more && all.length < SAVED_MAX;) {
      const result = await read(at)
      put(wrong, unread(result))
      if (!result.ok) return
      all.push(...result.data.items)
      at = result.data.next_cursor
      more = result.data.more
    }
    saveCsv(table, all.reverse())
    announce(`${many(all.length, 'event')} saved.`)
  }
  const restart = () => {
    begin()
    poll.now()
  }
  types.input.addEventListener('change', restart)
  from.input.addEventListener('change', restart)
  const stop = button('Stop', () => {
    stopped = !stopped
    put(stop, stopped ? 'Go on' : 'Stop')
    if (stopped) show()
    else poll.now()
  })
  return h(
    'section',
    null,
    h('h2', null, 'The feed'),
    h(
      'div',
      {class: 'bar'},
      types.element,
      from.element,
      stop,
      asking(page, 'CSV', save, () => {}),
    ),
    wrong,
    told,
    table.element,
  )
}

/* ---- webhooks */

const stateOf = w => (w.state === 'off' ? state('off') : w.failures ? state('failing') : state('active'))
const WEBHOOKS = [
  {head: 'webhook', cell: w => h('a', {href: '#/webhook/' + encodeURIComponent(w.webhook_id)}, code(w.webhook_id))},
  {head: 'state', cell: stateOf},
  {head: 'oldest not delivered', number: true, cell: w => (w.cursor_age_s ? span(w.cursor_age_s) : 'none')},
  {head: 'last status', number: true, cell: w => w.last_status || ''},
  {head: 'failures', number: true, cell: w => number(w.failures)},
  {head: 'to', wide: true, cell: w => code(w.url)},
  {head: 'why', wide: true, cell: w => w.reason ?? (w.failures && w.last_error ? said(w.last_error) : '')},
]

function newWebhook(page) {
  const id = field('Id', {value: newId('webhook'), maxlength: 64}),
    url = field('Address', {
      type: 'url',
      placeholder: 'https://',
      hint: 'Its receiver verifies what comes by the secret, which is told once.',
    })
  const types = field('Types', {options: [['', 'all'], ...Object.entries(GROUPS)]}),
    from = field('From', {
      options: [
        ['now', 'now'],
        ['oldest', 'the oldest event that is kept'],
      ],
    })
  return ask({
    title: 'New webhook',
    fields: [id.element, url.element, types.element, from.element],
    say: () =>
      !id.value
        ? {missing: 'What is its id?'}
        : !/^https?:\/\/./.test(url.value)
          ? {missing: 'Where do the events go? An https address.'}
          : {
              what: [
                'Deliver ',
                h('b', null, types.value ? `the events of ${GROUPS[types.value]}` : 'all events'),
                ' to ',
                code(url.value),
                '.',
              ],
              act: 'Make the webhook',
            },
    send: () =>
      call('POST', 'webhooks', {
        webhook_id: id.value,
        url: url.value,
        from: from.value,
        ...(types.value && {types: typesOf(types.value).split(',')}),
      }),
    done: ({data, replayed}) => [
      'The webhook ',
      code(data.webhook_id),
      replayed ? ' had been made before.' : ' is made.',
    ],
  }).then(async result => {
    if (!result) return
    if (result.data.secret)
      await showOnce(
        'The secret of this webhook',
        'Give it to the receiver now: it is not told again.',
        result.data.secret,
      )
    page.again()
  })
}

function rotate(id) {
  return ask({
    title: ['Rotate the secret of ', code(id)],
    danger: true,
    say: () => ({
      what: 'A new secret signs from now on, the old one beside it for 24 hours: until then the receiver learns it.',
      act: 'Make a new secret',
    }),
    send: () => call('POST', path`webhooks/${id}/rotate`, {}),
    done: () => ['The webhook ', code(id), ' has a new secret.'],
  }).then(
    result =>
      result && showOnce('The new secret', 'Give it to the receiver now: it is not told again.', result.data.secret),
  )
}
function enable(w) {
  const how = field('Go on', {
    options: [
      ['', 'where it stood'],
      ...(w.failed_event ? [['skip', `behind the event that failed, ${w.failed_event}`]] : []),
      ['60', 'with what happened from a minute ago on'],
      ['3600', 'with what happened from an hour ago on'],
    ],
  })
  return ask({
    title: ['Enable ', code(w.webhook_id)],
    fields: [how.element],
    say: () => ({
      what:
        how.value === 'skip'
          ? ['One event is ', h('b', null, 'never delivered'), ' to it: ', code(w.failed_event), '.']
          : how.value
            ? 'Events between there and where it stood are never delivered to it, or delivered again.'
            : 'Deliveries begin at once, with the oldest event that it has not got.',
      act: 'Enable',
    }),
    send: () =>
      call(
        'POST',
        path`webhooks/${w.webhook_id}/enable`,
        how.value === 'skip' ? {skip: true} : how.value ? {from: new Date(now() - how.value * 1000).toISOString()} : {},
      ),
    done: ({data}) => ['The webhook ', code(data.webhook_id), ' is ', data.state, '.'],
  })
}
function remove(id) {
  return ask({
    title: ['Remove ', code(id)],
    danger: true,
    say: () => ({
      what: 'No event is delivered to it any more, and its secret is forgotten.',
      act: 'Remove the webhook',
    }),
    send: () => call('DELETE', path`webhooks/${id}`),
    done: () => ['The webhook ', code(id), ' is removed.'],
  }).then(result => {
    if (result) location.hash = '#/events'
  })
}

const ATTEMPTS = [
  {head: 'at', cell: a => time(a.at)},
  {head: 'type', cell: a => a.type},
  {head: 'event', cell: a => code(a.event_id)},
  {head: 'status', number: true, cell: a => a.status ?? ''},
  {head: 'ms', number: true, cell: a => number(a.ms)},
  {head: 'answer', wide: true, cell: a => [a.error && said(a.error), a.body && code(a.body)]},
]

async function ping(id, room, pressed) {
  pressed.disabled = true
  put(room, h('p', {class: 'muted'}, 'Sending a ping …'))
  const result = await call('POST', path`webhooks/${id}/ping`, {})
  pressed.disabled = false
  const {status, ms, body, error} = result.data
  put(
    room,
    !result.ok
      ? problem(result)
      : h(
          'p',
          {class: 'sentence', role: 'status'},
          error
            ? ['Not delivered: ', said(error), '.']
            : [
                'Its receiver answered ',
                h('b', null, String(status)),
                ` in ${number(ms)} ms`,
                body ? [': ', code(body)] : '.',
              ],
        ),
  )
}

function showWebhook(page) {
  const [id] = page.params,
    {room} = page
  page.title('Webhook ', code(id))
  const acts = h('div', {class: 'buttons', hidden: true}),
    wrong = h('div'),
    figures = h('div'),
    pinged = h('div'),
    attempted = h('div')
  let webhook = null
  const poll = page.poll(async () => {
    const result = await page.get(path`webhooks/${id}`)
    put(wrong, unread(result))
    if (!result.ok) return result.status === 404 ? null : result
    const w = (webhook = result.data)
    acts.hidden = false
    put(
      figures,
      facts([
        ['State', stateOf(w)],
        ['Why', w.reason],
        ['Address', code(w.url)],
        ['Types', w.types ? w.types.join(', ') : 'all'],
        ['Oldest not delivered', w.cursor_age_s ? `waits for ${span(w.cursor_age_s)}` : 'none'],
        ['Last status', w.last_status || null],
        ['Last error', w.last_error && said(w.last_error)],
        ['Failures in a row', number(w.failures)],
        ['Failing since', w.failing_since && time(w.failing_since)],
        ['Event that fails', w.failed_event && code(w.failed_event)],
        ['Next attempt', w.retry_at && time(w.retry_at)],
        ['At the same time', `at most ${number(w.parallel)}`],
        ['Made', time(w.created_at)],
        ['Secret of', w.rotated_at && time(w.rotated_at)],
      ]),
    )
    return result
  }, 5)
  const then = async done => {
    await done
    poll.now()
  }
  const pinging = button('Ping', () => ping(id, pinged, pinging))
  acts.append(
    pinging,
    button('Enable', () => then(enable(webhook))),
    button('Rotate the secret', () => then(rotate(id))),
    button('Remove', () => then(remove(id))),
  )
  const table = new Table('Last attempts', ATTEMPTS, a => a.event_id + a.at)
  table.element.hidden = true
  page.poll(async () => {
    const result = await page.get(path`webhooks/${id}/attempts`)
    if (!result.ok) {
      put(attempted, unread(result))
      return result.status === 404 ? null : result
    }
    table.show(result.data.items)
    table.element.hidden = !result.data.items.length
    put(
      attempted,
      result.data.items.length
        ? h('p', {class: 'muted'}, 'As of ', time(result.data.at), ', of instance ', code(result.data.instance), '.')
        : h('p', {class: 'none'}, 'No process has delivered to it lately, or its deliverer has not answered yet.'),
    )
    return result
  }, 2)
  room.append(
    h('p', null, h('a', {href: '#/events'}, 'All webhooks')),
    wrong,
    acts,
    pinged,
    h('section', null, figures),
    section('Last attempts', attempted, table.element),
  )
}

function webhooks(page) {
  const list = new List(page, {
    table: new Table('Webhooks', WEBHOOKS, w => w.webhook_id),
    what: 'webhook',
    at: () => ['webhooks'],
    empty: 'There is no webhook.',
  })
  return h(
    'section',
    null,
    h('h2', null, 'Webhooks'),
    list.element,
    h(
      'div',
      {class: 'buttons'},
      button('New webhook', () => newWebhook(page)),
    ),
  )
}

export function show(page) {
  if (page.name === 'webhook' && page.params[0]) return showWebhook(page)
  page.room.append(...[may() && webhooks(page), feed(page)].filter(Boolean))
}
