/* dom.js - elements, tables, and the forms of numbers and times. A text becomes a text node and never HTML, as texts of
 * the database may contain anything. */

/* h('td', {class: 'number', onclick: f}, 'text', element, [more]) makes an element. null and false are left out. */
export function h(tag, attributes, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else if (value === true) element.setAttribute(name, '')
    else if (value !== false && value != null) element.setAttribute(name, value)
  }
  add(element, children)
  return element
}

export function add(to, ...children) {
  for (const child of children.flat(Infinity)) if (child != null && child !== false) to.append(child)
  return to
}

/* A code, isolated as all text of the database, so that marks of direction in it do not move the text beside it. One of
 * usual length never breaks; a long one may, so that it fits a phone. */
const UNBROKEN = 28
export const code = text =>
  h('bdi', {class: String(text).length > UNBROKEN ? 'code long' : 'code', translate: 'no'}, String(text))
export const said = text => h('bdi', null, String(text))

export function link(to, text) {
  return h('a', {href: to}, text instanceof Node ? text : said(text))
}
export const toSku = sku => link('#/sku/' + encodeURIComponent(sku), code(sku))
export const toOrder = id => link('#/order/' + encodeURIComponent(id), code(id))
export const toPlace = place => link('#/location/' + encodeURIComponent(place), code(place))
/* Things with commas between them. */
export const commas = (all, show = code) => all.map((c, i) => [i > 0 && ', ', show(c)])

/* ---- numbers, times, states */

const digits = new Intl.NumberFormat('en')
export const number = n => (n == null ? '–' : digits.format(n))
const plurals = new Intl.PluralRules('en')
/* The form of a word for a number: are(1, 'is', 'are'). */
export const are = (n, one, more) => (plurals.select(Math.abs(n)) === 'one' ? one : more)
export const many = (n, one, more = one + 's') => `${number(n)} ${are(n, one, more)}`
export const units = n => many(n, 'unit')
export const bold = n => h('b', null, units(n))
export const capital = text => text[0].toUpperCase() + text.slice(1)
export const signed = n => (n > 0 ? '+' : '') + number(n)

let ahead = 0 /* ms by which the service's clock is ahead of the browser's */
export function clockIs(date) {
  if (date) ahead = Date.parse(date) + 500 - Date.now()
}
export const now = () => Date.now() + ahead

const two = n => String(n).padStart(2, '0')
export function clockTime(at) {
  const d = new Date(at)
  return `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`
}
const zones = new Intl.DateTimeFormat('en', {timeZoneName: 'short'})
const zone = at => zones.formatToParts(new Date(at)).find(p => p.type === 'timeZoneName').value
/* Day, time and zone: 2027-01-31 08:30:00 GMT+1. */
export function fullTime(at) {
  const d = new Date(at)
  return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())} ${clockTime(at)} ${zone(at)}`
}
/* A time in the reader's time zone; its title has UTC. */
export const time = at => (at ? h('time', {datetime: at, title: at}, fullTime(at)) : '–')

const SPANS = [
  [86400, 'd'],
  [3600, 'h'],
  [60, 'min'],
  [1, 's'],
]
export function span(seconds) {
  const s = Math.abs(Math.round(seconds))
  const [size, word] = SPANS.find(([size]) => s >= size) ?? [1, 's']
  return `${number(Math.floor(s / size))} ${word}`
}
export function ago(at) {
  const s = (now() - Date.parse(at)) / 1000
  return s >= 0 ? span(s) + ' ago' : 'in ' + span(s)
}

/* [the trade's word for a state, what it means]. A state that is not here is called as the service calls it. */
export const STATES = {
  held: ['held', 'not confirmed yet: when its time is over, its units are for sale again'],
  confirmed: ['confirmed', 'its units are kept until it is shipped'],
  settled: ['shipped', 'its units have left the house'],
  buried: ['failed', 'shipping failed, and is not tried again until it is kicked'],
  released: ['released', 'it ended without being shipped, and its units went back'],
  expired: ['expired', 'it was not confirmed in time, and its units went back'],
  waiting: ['waiting', 'a backorder: it waits for units that are not in the house yet'],
  'on hold': ['on hold', 'it is not shipped until it is taken off hold'],
}
export const stateWord = name => STATES[name]?.[0] ?? String(name)
/* A state, with its colour. The title says what it means, and the word of the service where that is another one. `of`
 * has the words; a state of no order has none. */
export function state(name, of = STATES) {
  const [word, means] = of[name] ?? [String(name)]
  return h(
    'span',
    {
      class: 'state ' + String(name).replace(/[^a-z_]/g, ''),
      title: means && means + (word === name || name === 'waiting' ? '' : `. Holdfast: ${name}`),
    },
    word,
  )
}

/* ---- tables */

/* A table whose rows are kept by their key, so that a poll moves neither the focus nor the selection.
 * columns: [{head, cell(item) -> node or text, number?: true, wide?: true}]; key(item) -> string. On a phone each row
 * is a card: the roles keep the table for screen readers, and each cell has its head. */
export class Table {
  constructor(label, columns, key) {
    Object.assign(this, {label, columns, key})
    this.rows = new Map()
    this.body = h('tbody', {role: 'rowgroup'})
    this.element = h(
      'div',
      {class: 'table cards', tabindex: '0', role: 'region', 'aria-label': label},
      h(
        'table',
        {role: 'table'},
        h('caption', {class: 'hidden'}, label),
        h(
          'thead',
          {role: 'rowgroup'},
          h(
            'tr',
            {role: 'row'},
            columns.map(c => h('th', {scope: 'col', role: 'columnheader', class: kind(c)}, c.head || unseen(c))),
          ),
        ),
        this.body,
      ),
    )
  }

  #fill(row, item) {
    const made = JSON.stringify(item)
    if (row.made === made && !this.columns.some(c => c.live)) return
    row.made = made
    this.columns.forEach((c, i) => {
      const cell = row.tr.children[i],
        next = add(h('td', {class: kind(c), role: 'cell', 'data-head': c.head || null}), c.cell(item) ?? '–')
      if (!cell) row.tr.append(next)
      else if (!cell.isEqualNode(next)) {
        const held = cell.contains(document.activeElement)
        cell.replaceWith(next)
        if (held) next.querySelector('a, button, input')?.focus()
      }
    })
  }

  /* Shows these items, in their order. */
  show(items) {
    const before = this.rows
    let at = this.body.firstChild
    this.rows = new Map()
    for (const item of items) {
      const key = this.key(item),
        row = before.get(key) ?? {tr: h('tr', {role: 'row'})}
      before.delete(key)
      this.rows.set(key, row)
      this.#fill(row, item)
      if (row.tr === at) at = at.nextSibling
      else this.body.insertBefore(row.tr, at)
    }
    for (const row of before.values()) row.tr.remove()
  }
}
const unseen = c => h('span', {class: 'hidden'}, c.act ? 'actions' : c.tick ? 'ticked' : 'notes')
const kind = c =>
  [c.number && 'number', c.wide && 'wide', c.act && 'act', c.tick && 'tick'].filter(Boolean).join(' ') || null

/* A table that is made once, of rows of cells. A column that begins with a number has numbers. */
export function tableOf(heads, rows, title) {
  const row = (tag, cells, attributes) =>
    h(
      'tr',
      null,
      cells.map((cell, i) => {
        const kind = typeof rows[0]?.[i] === 'number' && 'number'
        return h(tag, {class: kind, ...attributes}, typeof cell === 'number' ? number(cell) : cell)
      }),
    )
  return h(
    'div',
    {class: 'table'},
    h(
      'table',
      null,
      title && h('caption', {class: 'hidden'}, title),
      h('thead', null, row('th', heads, {scope: 'col'})),
      h(
        'tbody',
        null,
        rows.map(cells => row('td', cells)),
      ),
    ),
  )
}

/* Names and values beside each other: [[name, value], ..]. A name without a value has no row. */
export function facts(rows, kind = 'facts') {
  return h(
    'dl',
    {class: kind},
    rows
      .filter(([, value]) => value != null && value !== '')
      .map(([name, value]) => h('div', null, h('dt', null, name), h('dd', null, value))),
  )
}

export const section = (title, ...content) => h('section', null, h('h2', null, title), content)

/* Changes the text of an element; an equal text is not touched. */
export function tell(element, text) {
  if (element.textContent !== text) element.textContent = text
}

/* Replaces the children of an element, unless they are equal. */
export function put(element, ...children) {
  const next = add(h(element.tagName), children)
  next.normalize()
  if (
    next.childNodes.length === element.childNodes.length &&
    [...next.childNodes].every((n, i) => n.isEqualNode(element.childNodes[i]))
  )
    return
  element.replaceChildren(...next.childNodes)
}

export function button(text, onclick, attributes) {
  return h('button', {type: 'button', ...attributes, onclick}, text)
}

/* does() at this key, where nothing is typed and no dialog is open. */
export const onKey = (key, does) =>
  addEventListener('keydown', event => {
    const typing = event.target.closest?.('input, textarea, select, [contenteditable]')
    if (event.key !== key || event.ctrlKey || event.metaKey || event.altKey || typing) return
    if (document.querySelector('dialog[open]')) return
    event.preventDefault()
    does()
  })

/* ---- fields */

let fields = 0
/* A field with its label. {type, value, min, max, hint, list, required, options: [[value, text]]}; rows: of a text of
 * several lines. */
export function field(label, {hint, options, list, ...attributes}) {
  const id = 'field-' + ++fields
  const input = options
    ? h(
        'select',
        {id, ...attributes},
        options.map(([value, text]) => h('option', {value, selected: value === attributes.value}, text)),
      )
    : h(attributes.rows ? 'textarea' : 'input', {
        id,
        autocomplete: 'off',
        spellcheck: 'false',
        list: list && id + '-list',
        ...attributes,
        'aria-describedby': hint && id + '-hint',
      })
  if (attributes.rows) input.value = attributes.value ?? ''
  const element = h(
    'div',
    {class: 'field'},
    h('label', {for: id}, label),
    input,
    list &&
      h(
        'datalist',
        {id: id + '-list'},
        list.map(value => h('option', {value})),
      ),
    hint && h('small', {id: id + '-hint'}, hint),
  )
  return {
    element,
    input,
    get value() {
      return input.value.trim()
    },
    get int() {
      return int(input.value)
    },
  }
}
/* Reads a whole number as people type it; NaN: it is none. */
export function int(text) {
  const plain = text.trim().replace(/[ ,_\u00a0]/g, '')
  return /^[+-]?\d{1,16}$/.test(plain) ? Number(plain) : NaN
}

/* ---- the line of status */

const status = () => document.getElementById('status')

const TOLD_MS = 1000
let told_at = 0

/* Shows one line of status, which screen readers read aloud, until the next one or until another page is opened. */
export function announce(...what) {
  told_at = performance.now()
  put(status(), ...what)
  status().append(button('Close', () => put(status()), {class: 'plain', 'aria-label': 'Close this message'}))
}

/* For a page that opens: clears the status, unless it is new. A change that leads to the page has just announced its
 * outcome, which stays. */
export function quiet() {
  if (performance.now() - told_at > TOLD_MS) put(status())
}
