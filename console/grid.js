/* grid.js - a table whose rows are typed: cells, keys and what is pasted. Enter goes on, the arrows go up and down, and
 * a scanner is heard in every cell. The last row is always an empty one. */
import {button, h, put} from './dom.js'

/* A scanner leaves at most so long between two keys, and types so many at least. */
const SCAN_MS = 30,
  SCAN_KEYS = 6

/* Whether a pasted text is more than one cell. */
export const hasCells = text => /[\t\r\n]/.test(text.trim())

export class Grid {
  /* columns: [{name, head, ..attributes of its inputs}]; heads: [[name, head]] of cells that are only shown. told has
   * changed(rows, name): the cell of a row was typed into, or rows were filled; scanned(text); pasted(text, row, name);
   * sent(): Ctrl and Enter. */
  constructor(label, columns, heads, told) {
    Object.assign(this, {columns, heads, told, rows: [], typed: null})
    this.body = h('tbody')
    const hidden = text => h('span', {class: 'hidden'}, text)
    const head = (text, kind) => h('th', {scope: 'col', class: kind}, text || hidden('notes'))
    this.table = h(
      'table',
      {class: 'sheet'},
      h('caption', {class: 'hidden'}, label),
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          columns.map(c => head(c.head, c.name)),
          heads.map(([name, text]) => head(text, name)),
          head(hidden('actions'), 'act'),
        ),
      ),
      this.body,
    )
    this.element = h('div', {class: 'table'}, this.table)
    this.body.addEventListener('input', event => this.#changed(event.target))
    this.body.addEventListener('keydown', event => this.#key(event))
    this.body.addEventListener('paste', event => this.#paste(event))
  }

  #rowOf(input) {
    return this.rows.find(row => row.tr.contains(input))
  }
  #nameOf(row, input) {
    return this.columns.find(c => row.cells[c.name] === input)?.name
  }
  #changed(input) {
    const row = this.#rowOf(input)
    if (row) this.told.changed([row], this.#nameOf(row, input))
  }

  /* A row with these texts. `line` is the caller's, and stays with the row. before: the row that it stands above. */
  add(texts = {}, line = {}, before = null) {
    const cells = {},
      shown = {}
    for (const {name, head, ...attributes} of this.columns) {
      cells[name] = h('input', {autocomplete: 'off', spellcheck: 'false', ...attributes})
      cells[name].value = texts[name] ?? ''
    }
    for (const [name] of this.heads) shown[name] = h('td', {class: name})
    const row = {line, cells, shown}
    row.remove = button('Remove', () => this.remove(row, true))
    row.tr = h(
      'tr',
      null,
      this.columns.map(c => h('td', {class: c.name}, cells[c.name])),
      this.heads.map(([name]) => shown[name]),
      h('td', {class: 'act'}, row.remove),
    )
    this.rows.splice(before ? this.rows.indexOf(before) : this.rows.length, 0, row)
    this.body.insertBefore(row.tr, before?.tr ?? null)
    return row
  }
  remove(row, focus = false) {
    const at = this.rows.indexOf(row)
    this.rows.splice(at, 1)
    row.tr.remove()
    if (!focus) return
    this.told.changed([row], null)
    this.focus(this.rows[at] ?? this.rows.at(-1), this.columns[0].name)
  }
  focus(row, name) {
    row?.cells[name].focus()
    row?.cells[name].select()
  }

  text = (row, name) => row.cells[name]?.value.trim() ?? ''
  texts = row => Object.fromEntries(this.columns.map(c => [c.name, this.text(row, c.name)]))
  isEmpty = row => this.columns.every(c => !this.text(row, c.name))
  filled = () => this.rows.filter(row => !this.isEmpty(row))
  /* The empty row at the end; new rows stand above it. */
  last() {
    const last = this.rows.at(-1)
    return last && this.isEmpty(last) ? last : this.add()
  }
  /* Shows nodes in the cells that are not typed. wrong: the cell that cannot stay so. */
  tell(row, nodes, wrong = '') {
    for (const [name, cell] of Object.entries(row.shown)) put(cell, nodes[name] ?? '')
    for (const {name} of this.columns) row.cells[name].setAttribute('aria-invalid', String(name === wrong))
  }
  /* After rows came or went: an empty one at the end, and names for screen readers. */
  settle(placeholders) {
    this.last()
    this.rows.forEach((row, i) => {
      for (const {name, head} of this.columns) {
        row.cells[name].setAttribute('aria-label', `${head}, line ${i + 1}`)
        row.cells[name].placeholder = placeholders[name] ?? ''
      }
      row.remove.setAttribute('aria-label', `Remove line ${i + 1}`)
      row.remove.hidden = this.isEmpty(row)
    })
  }

  /* Puts rows of texts into the cells from this one on. */
  fill(rows, row, name) {
    const from = Math.max(
      this.columns.findIndex(c => c.name === name),
      0,
    )
    let at = this.rows.indexOf(row)
    const filled = rows.map(texts => {
      const to = this.rows[at++] ?? this.add()
      texts.forEach((text, i) => {
        const column = this.columns[from + i]
        if (column) to.cells[column.name].value = text.trim()
      })
      return to
    })
    this.told.changed(filled, null)
  }

  #key(event) {
    const input = event.target,
      row = this.#rowOf(input),
      name = row && this.#nameOf(row, input)
    if (!name) return
    const {key, timeStamp: at} = event
    if (key.length === 1 && !event.ctrlKey && !event.metaKey) {
      if (this.typed?.input !== input || at - this.typed.at > SCAN_MS)
        this.typed = {input, before: input.value, text: ''}
      this.typed.text += key
      this.typed.at = at
      return
    }
    const i = this.rows.indexOf(row)
    if (key === 'Enter') {
      event.preventDefault()
      const typed = this.typed
      this.typed = null
      if (event.ctrlKey || event.metaKey) this.told.sent()
      else if (typed?.input === input && typed.text.length >= SCAN_KEYS && at - typed.at <= SCAN_MS) {
        input.value = typed.before
        this.told.scanned(typed.text)
      } else {
        const next = this.columns[1].name
        if (name === this.columns[0].name && input.value.trim()) this.focus(row, next)
        else this.focus(this.rows[i + 1] ?? row, this.columns[0].name)
      }
    } else if ((key === 'ArrowDown' || key === 'ArrowUp') && !input.getAttribute('list')) {
      event.preventDefault()
      this.focus(this.rows[i + (key === 'ArrowDown' ? 1 : -1)], name)
    }
  }

  #paste(event) {
    const text = event.clipboardData.getData('text/plain'),
      row = this.#rowOf(event.target)
    if (!row || !hasCells(text)) return
    event.preventDefault()
    this.told.pasted(text, row, this.#nameOf(row, event.target))
  }
}
