/* csv.js - a CSV file as `holdfast import` reads it: encodings, separators, quotes, names of columns, numbers, and the
 * words for a bad row. commands/import/ is the model; a test holds the two against each other. */
import {LOCATION_MAX, SKU_MAX, isCode} from './known.js'

/* [field, the kinds that may have it, the kinds that must] */
const LISTS = ['receipt', 'adjustment', 'count', 'transfer'],
  BUT_TRANSFER = ['receipt', 'adjustment', 'count'],
  BUT_COUNT = ['receipt', 'adjustment', 'transfer'],
  LOSES = ['adjustment', 'count']
const FIELDS = [
  ['sku', LISTS, LISTS],
  ['qty', BUT_COUNT, BUT_COUNT],
  ['counted', ['count'], ['count']],
  ['from', ['transfer'], ['transfer']],
  ['to', ['transfer', ...LOSES], ['transfer']],
  ['short', LOSES, []],
  ['location', BUT_TRANSFER, []],
  ['expected', LOSES, []],
  ['as_of', ['count'], []],
  ['order_id', [], []],
  ['customer', [], []],
  ['state', [], []],
  ['waits_since', [], []],
  ['ship_after', [], []],
]
const isOf = (field, kind) => FIELDS.find(([name]) => name === field)[1].includes(kind)
const needed = kind => FIELDS.filter(([, , must]) => must.includes(kind)).map(([name]) => name)

const QTY_MAX = 9000000000000000,
  LINE_UNITS_MAX = 1000000000000,
  RECORD_MAX = 4 << 20

/* ---- bytes become text */

/* Excel writes UTF-16 with a mark, other programs without; of a first line every other byte is 0. */
function decode(bytes) {
  const [a, b, c, d] = bytes,
    pairs = bytes.subarray(0, bytes.length & ~1)
  const of = (encoding, at, from) => new TextDecoder(encoding, {ignoreBOM: true}).decode(from.subarray(at))
  if (a === 0xef && b === 0xbb && c === 0xbf) return of('utf-8', 3, bytes)
  if (a === 0xff && b === 0xfe) return of('utf-16le', 2, pairs)
  if (a === 0xfe && b === 0xff) return of('utf-16be', 2, pairs)
  if (bytes.length >= 4 && a && !b && c && !d) return of('utf-16le', 0, pairs)
  if (bytes.length >= 4 && !a && b && !c && d) return of('utf-16be', 0, pairs)
  return of('utf-8', 0, bytes)
}

/* ---- the separator, which the first line decides */

/* Leaves out what stands around a name: spaces, also one that does not break, quotes and a mark. */
const trim = name => name.replace(/^[ \t\r\n"\u00a0\ufeff]+|[ \t\r\n"\u00a0\ufeff]+$/g, '').toLowerCase()
const fieldOf = name => FIELDS.find(([field]) => field === trim(name))?.[0]

function separatorOf(text, kind) {
  const said = /^sep=([,;\t])(?:\r\n|\r|\n)/i.exec(text)
  if (said) return {separator: said[1], skip: said[0].length}
  let end = 0,
    quoted = false,
    blank = true
  for (; end < text.length; end++) {
    const c = text[end]
    if (c === '"') quoted = !quoted
    const ends = c === '\r' || c === '\n'
    if (!quoted && !blank && ends) break
    if (!ends) blank = false
  }
  let best = ',',
    best_score = -1
  for (const separator of ',;\t') {
    let known = 0,
      count = 0,
      begin = 0
    quoted = false
    for (let at = 0; at <= end; at++) {
      if (at < end && text[at] === '"') quoted = !quoted
      if (at < end && (text[at] !== separator || quoted)) continue
      const field = fieldOf(text.slice(begin, at))
      known += field ? (isOf(field, kind) ? 2 : 1) : 0
      begin = at + 1
      count += at < end
    }
    const score = known * ((1 << 20) + 1) + count
    if (score > best_score) [best, best_score] = [separator, score]
  }
  return {separator: best, skip: 0}
}

/* ---- records */

const isEnd = c => c === '\r' || c === '\n'
const isBlank = (c, separator) => (c === ' ' || c === '\t') && c !== separator

/* One field that begins at `at` -> [its text, where it ends], or null where it is no CSV. */
function fieldAt(text, at, separator) {
  while (at < text.length && isBlank(text[at], separator)) at++
  if (text[at] !== '"') {
    let end = at
    while (end < text.length && text[end] !== separator && !isEnd(text[end])) {
      if (text[end] === '"') return null
      end++
    }
    let last = end
    while (last > at && isBlank(text[last - 1], separator)) last--
    return [text.slice(at, last), end]
  }
  let value = ''
  for (at++; ;) {
    const close = text.indexOf('"', at)
    if (close < 0) return null
    value += text.slice(at, close)
    at = close + 1
    if (text[at] !== '"') break
    value += '"'
    at++
  }
  while (at < text.length && isBlank(text[at], separator)) at++
  return at === text.length || text[at] === separator || isEnd(text[at]) ? [value, at] : null
}

/* The records of a text, each {line, fields}; blank lines are none. Throws words if it is no CSV. */
function records(text, separator, line) {
  const all = []
  let at = 0
  while (at < text.length) {
    if (isEnd(text[at])) {
      line++
      at += text.startsWith('\r\n', at) ? 2 : 1
      continue
    }
    const first = at,
      fields = [],
      began = line
    for (;;) {
      const field = fieldAt(text, at, separator)
      if (!field) throw `after line ${line}: not CSV; is a quote not closed?`
      fields.push(field[0])
      line += text.slice(at, field[1]).match(/\r\n|\r|\n/g)?.length ?? 0
      at = field[1]
      if (text[at] !== separator) break
      at++
    }
    if (at - first > RECORD_MAX) throw `line ${began}: a row of more than 4 MiB begins there; is a quote not closed?`
    /* a line of spaces alone is none */
    if (fields.length > 1 || fields[0] !== '' || text.slice(first, at).includes('"')) all.push({line: began, fields})
  }
  return all
}

/* ---- fields of a row; each throws the words for a bad one */

function code(name, text, max) {
  if (!isCode(text, max))
    throw (
      `${name} must be 1 to ${max} bytes of UTF-8 with no space at either end, without control and invisible ` +
      'characters, and not . or ..'
    )
  return text
}

/* 5.0000 is 5. Where a comma may be the point, 1.000 may be a thousand. */
function integer(name, text, min, max, comma) {
  const read = (comma ? /^(-?)(\d+)(?:[.,](0+))?$/ : /^(-?)(\d+)(?:\.(0+))?$/).exec(text),
    value = read && Number(read[1] + read[2])
  if (!read || read[2].length > String(max).length || value < min || value > max)
    throw `${name} must be an integer from ${min} to ${max}, in plain digits`
  if (comma && read[3]?.length === 3 && read[2].length <= 3 && read[2][0] !== '0')
    throw `${name} is one or a thousand times as much: write it in plain digits`
  return value || 0
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?([Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/
function instant(name, text) {
  const [, year, month, day] = TIME.exec(text) ?? [],
    date = new Date(`${year}-${month}-${day}T00:00:00Z`)
  if (!year || date.getUTCDate() !== Number(day)) throw `${name} must be a time of RFC 3339, as 2026-11-20T22:00:00Z`
  return text
}

/* A row of a list of this kind: {sku, qty or counted, location or from and to, ..}. */
function rowOf(fields, at, width, kind, separator) {
  if (fields.length !== width) throw `it has ${fields.length > width ? 'more' : 'fewer'} fields than the first line`
  const text = name => (at[name] == null ? '' : fields[at[name]]),
    row = {sku: code('sku', text('sku'), SKU_MAX)},
    number = (name, min, max) => integer(name, text(name), min, max, separator !== ',')
  const may = (name, read) => {
    if (text(name)) row[name] = read()
  }
  if (kind === 'transfer') {
    row.from = code('from', text('from'), LOCATION_MAX)
    row.to = code('to', text('to'), LOCATION_MAX)
    if (row.from === row.to) throw 'to must be another location than from'
  } else may('location', () => code('location', text('location'), LOCATION_MAX))
  if (kind === 'count') row.counted = number('counted', 0, QTY_MAX)
  else row.qty = number('qty', kind === 'adjustment' ? -LINE_UNITS_MAX : 1, LINE_UNITS_MAX)
  if (LOSES.includes(kind)) may('expected', () => number('expected', 0, QTY_MAX))
  if (kind === 'count') may('as_of', () => instant('as_of', text('as_of')))
  if (row.qty === 0) throw 'qty must not be 0'
  if (LOSES.includes(kind)) {
    may('short', () => text('short'))
    if (row.short && row.short !== 'backorder') throw 'short must be backorder, or empty'
    if (!row.short && text('to')) throw 'to goes with short backorder alone'
    may('to', () => code('to', text('to'), LOCATION_MAX))
  }
  return row
}

/* ---- the list */

/* Which column is what -> {at, passed}. Throws words if the first line is not of such a list. */
function columnsOf(head, kind, separator) {
  const at = {},
    passed = []
  let strange = null
  head.forEach((name, i) => {
    const field = fieldOf(name)
    if (field && isOf(field, kind)) {
      if (at[field] != null) throw `the first line names the column ${field} twice`
      at[field] = i
    } else if (field && field !== 'state' && field !== 'customer') strange = field
    else if (trim(name) && trim(name) !== 'wrong') passed.push(name)
  })
  const must = needed(kind)
  if (must.some(field => at[field] == null)) {
    const words = {',': 'commas', ';': 'semicolons', '\t': 'tabs'}[separator],
      names = must.length > 1 ? `${must.slice(0, -1).join(', ')} and ${must.at(-1)}` : must[0]
    const seen = head.filter(Boolean).join(', ') || 'nothing'
    throw `the first line must name the columns ${names}; separated by ${words}, it names ${seen}`
  }
  if (strange) throw `the column ${strange} is of a list of another kind`
  return {at, passed}
}

/* Reads the bytes of a list -> {rows: [{line, sku, ..} or {line, wrong, fields}], passed, separator} or {wrong}: why it
 * is none. home: the location of a row that names none. */
export function readList(bytes, kind, home = 'main') {
  const text = decode(bytes),
    {separator, skip} = separatorOf(text, kind)
  try {
    const [head, ...all] = records(text.slice(skip), separator, skip ? 2 : 1)
    if (!head) throw `it is empty: the first line must name the columns ${needed(kind).join(', ')}`
    const {at, passed} = columnsOf(head.fields, kind, separator),
      counted = new Set()
    const rows = all
      .filter(r => r.fields.some(Boolean))
      .map(({line, fields}) => {
        try {
          const row = rowOf(fields, at, head.fields.length, kind, separator),
            key = JSON.stringify([row.sku, row.location ?? home])
          if (kind === 'count' && counted.has(key)) throw 'it counts a sku and location again (--sum adds them up)'
          counted.add(key)
          return {line, ...row}
        } catch (wrong) {
          if (typeof wrong !== 'string') throw wrong
          return {
            line,
            wrong,
            fields: Object.fromEntries(Object.entries(at).map(([name, i]) => [name, fields[i] ?? ''])),
          }
        }
      })
    return {rows, passed, separator}
  } catch (wrong) {
    if (typeof wrong !== 'string') throw wrong
    return {wrong}
  }
}

/* Cells that were copied from a spreadsheet -> rows of texts. */
export function readCells(text) {
  try {
    return records(text.replace(/[\r\n]+$/, ''), '\t', 1).map(r => r.fields)
  } catch (wrong) {
    if (typeof wrong !== 'string') throw wrong
    return text
      .split(/\r\n|\r|\n/)
      .filter(Boolean)
      .map(line => line.split('\t'))
  }
}
