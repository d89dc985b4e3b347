/* sheet.js - many lines at once: goods that come in, are counted, moved or written off. Lines come from the keyboard, a
 * scanner, cells that are pasted, or a CSV file. They are one movement: all of them take effect, or none. */
import {add, are, button, commas, h, many, now, number, put, said, signed, toSku, units} from './dom.js'
import {call, mayChangeStock, newId, query} from './api.js'
import {ask, asking, field, int, unlessLeft, unread} from './ask.js'
import {readCells, readList} from './csv.js'
import {Grid, hasCells} from './grid.js'
import {LOCATION_MAX, SKU_MAX, Skus, forgetLocations, homeOf, isCode, isNewPlace, locations} from './known.js'
import {asMovement, losses, lost} from './moving.js'

const LINES_MAX = 1000,
  UNITS_MAX = 1000000000000,
  LOOK_MS = 200,
  BEHIND_MS = 500 /* a count is of so long ago: as far as now() may be ahead of the service */

/* there: the figure of a line's place that is shown, and its head; does, did: the words of the change. */
const FREE = {head: 'free', there: p => p.available},
  ON_HAND = {head: 'on hand', there: p => p.on_hand}
const SHEETS = {
  receipt: {...ON_HAND, title: 'Receive goods', amount: 'units', does: 'Receive', did: 'Received'},
  count: {...ON_HAND, title: 'Count', amount: 'counted', does: 'Set on hand of', did: 'Counted'},
  transfer: {...FREE, title: 'Move goods', amount: 'units', does: 'Move', did: 'Moved'},
  adjustment: {...FREE, title: 'Write off', amount: 'units', does: 'Write off', did: 'Wrote off'},
}
const REASONS = ['damaged', 'lost', 'stolen', 'expired', 'used']
const WORDS = {',': 'commas', ';': 'semicolons', '\t': 'tabs'}

/* What was typed, by kind: it is there again when the page is. */
const drafts = new Map()
const draftOf = kind => drafts.get(kind) ?? {id: newId(kind), lines: []}

const distinct = all => [...new Set(all)]
const secondsAgo = () => now() - BEHIND_MS

class Sheet {
  constructor(page, kind, places) {
    Object.assign(this, {page, kind, places, is: SHEETS[kind], moves: kind === 'transfer', counts: kind === 'count'})
    this.takes = this.counts || kind === 'adjustment' /* it may take units from orders */
    this.draft = draftOf(kind)
    this.skus = new Skus()
    this.#fields()
    const list = this.home.input.getAttribute('list'),
      where = {head: this.moves ? 'from' : 'location', maxlength: LOCATION_MAX, list}
    const columns = [
      {name: 'sku', head: 'sku', maxlength: SKU_MAX},
      {name: 'amount', head: this.is.amount, maxlength: 20, inputmode: 'numeric'},
      {...where, name: 'where'},
      ...(this.moves ? [{...where, name: 'to', head: 'to'}] : []),
    ]
    const shown = [
      ['name', 'name'],
      ['there', this.is.head],
      ['note', ''],
    ]
    this.grid = new Grid(this.is.title, columns, shown, {
      changed: (rows, name) => {
        for (const {line} of rows) {
          delete line.wrong
          if (name !== 'sku') line.at = secondsAgo()
        }
        this.look()
      },
      scanned: text => this.scan(text),
      pasted: (text, row, name) => this.paste(text, row, name),
      sent: () => this.send.click(),
    })
    this.told = h('div', {role: 'status'})
    this.summary = h('p', {class: 'sentence', 'aria-live': 'polite'})
    this.send = asking(
      page,
      this.is.does,
      () => this.lookUp(true),
      () => this.confirm(),
      {class: this.kind === 'adjustment' ? 'danger' : 'primary'},
    )
  }

  /* ---- what all lines have */

  #fields() {
    const {draft, kind, page} = this,
      codes = (this.places ?? []).map(p => p.location),
      place = (label, value) => field(label, {value, list: codes, maxlength: LOCATION_MAX})
    const asked = page.query.get('location')
    this.home = place(this.moves ? 'From' : 'Location', asked ?? draft.home ?? homeOf(this.places))
    this.to = place('To', draft.to ?? '')
    this.reason = field('Reason', {
      value: draft.reason ?? '',
      maxlength: 500,
      list: kind === 'adjustment' ? REASONS : null,
    })
    this.reference = field('Reference', {value: draft.reference ?? '', maxlength: 500})
    const blind = asked == null ? (draft.blind ?? false) : page.query.has('blind')
    this.blind = h('input', {type: 'checkbox', id: 'blind', checked: blind})
    this.losses = losses(this.takes ? this.places : null, draft.losses)
  }

  kindOf = location => this.places?.find(p => p.location === location)?.kind
  isBlind = () => this.counts && this.blind.checked

  /* ---- lines */

  read(row) {
    const {sku, amount, where, to} = this.grid.texts(row)
    return {
      text: sku,
      sku: this.skus.get(sku)?.sku ?? sku,
      units: int(amount),
      where: where || this.home.value,
      to: this.moves ? to || this.to.value : null,
    }
  }
  ends = l => (this.moves ? [l.where, l.to] : [l.where])
  there = l => this.skus.get(l.text)?.at?.get(l.where) ?? {on_hand: 0, available: 0}
  key = l => JSON.stringify([l.sku, l.where, l.to])

  /* [the cell, why its line cannot be sent yet], or null. twins: how many lines have its sku and location. */
  wrongIn(row, l, twins) {
    const s = this.skus.get(l.text)
    if (row.line.wrong) return [row.line.wrong.startsWith('sku ') ? 'sku' : 'amount', row.line.wrong]
    if (!l.text) return ['sku', 'Which sku?']
    if (!isCode(l.text, SKU_MAX)) return ['sku', 'This is no code.']
    if (!s) return ['', 'Looking …']
    if (s.unread) return ['sku', 'It could not be looked up.']
    if (s.several) return ['sku', `A barcode of ${s.several.join(' and ')}: type the code.`]
    if (s.isNew && this.kind !== 'receipt')
      return ['sku', s.like ? `There is no such sku, but ${s.like}.` : 'There is no such sku.']
    if (!(l.units >= (this.counts ? 0 : 1) && l.units <= UNITS_MAX))
      return ['amount', `How many units? A whole number${this.counts ? '' : ' above 0'}.`]
    if (!l.where) return ['where', this.moves ? 'From where?' : 'Where?']
    if (this.moves && !l.to) return ['to', 'To where?']
    if (!this.ends(l).every(at => isCode(at, LOCATION_MAX))) return ['where', 'This is no location.']
    if (this.moves && l.where === l.to) return ['to', 'To another location.']
    return this.counts && twins > 1 ? ['sku', 'It counts a sku and location again.'] : null
  }
  /* Of a count, a line without a number was not counted: it stays, and is not sent. */
  isIdle = row => this.counts && !row.line.wrong && !this.grid.text(row, 'amount')
  sent = () => this.grid.filled().filter(row => !this.isIdle(row))

  /* What a line would do that is worth a word. */
  noteOf(l) {
    const s = this.skus.get(l.text),
      free = this.there(l).available,
      off = l.units - this.there(l).on_hand
    return [
      s?.isNew && (s.like ? `A new sku; there is ${s.like}.` : 'A new sku.'),
      ...this.ends(l).map(at => isNewPlace(this.places, at) && `${at} is a new location.`),
      this.counts && !this.isBlind() && off !== 0 && signed(off),
      (this.moves || this.kind === 'adjustment') && l.units > free && `Only ${number(free)} free there.`,
    ]
      .filter(Boolean)
      .join(' ')
  }

  /* Draws what follows from the cells, and keeps them. */
  draw() {
    const {grid} = this
    grid.settle({where: this.home.value, to: this.to.value})
    grid.table.classList.toggle('blind', this.isBlind())
    const rows = this.sent(),
      lines = rows.map(row => this.read(row)),
      twins = new Map()
    for (const l of lines) twins.set(this.key(l), (twins.get(this.key(l)) ?? 0) + 1)
    let wrong = 0
    for (const row of grid.filled()) {
      const l = this.read(row),
        s = this.skus.get(l.text),
        [cell, why] = (!this.isIdle(row) && this.wrongIn(row, l, twins.get(this.key(l)))) || [],
        at = row.line.number ? `Line ${row.line.number}: ` : ''
      wrong += cell != null
      const nodes = {
        name: s?.name && said(s.name),
        there: s?.at && number(this.is.there(this.there(l))),
        note: this.isIdle(row)
          ? h('span', {class: 'muted'}, 'Not counted.')
          : why
            ? h('span', {class: cell ? 'bad' : 'muted'}, at + why)
            : this.noteOf(l),
      }
      grid.tell(row, nodes, cell)
    }
    grid.tell(grid.last(), {})
    this.#sum(rows, lines, wrong)
    this.#keep(grid.filled())
  }

  #sum(rows, lines, wrong) {
    const sum = lines.reduce((n, l) => n + (l.units || 0), 0),
      over = rows.length > LINES_MAX
    this.send.disabled = !rows.length || wrong > 0 || over
    put(this.send, this.act(lines, sum))
    put(
      this.summary,
      !this.grid.filled().length
        ? 'Scan or type a sku, paste cells from a spreadsheet, or drop a CSV file here.'
        : over
          ? `A sheet has up to ${number(LINES_MAX)} lines. holdfast import loads longer files.`
          : `${many(rows.length, 'line')}, ${units(sum)}. ` +
            (wrong ? `${many(wrong, 'line is', 'lines are')} not right yet.` : 'Nothing is changed yet.'),
    )
  }
  /* A file or an answer that comes when the page is left changes no draft. */
  #keep(rows) {
    if (this.page.signal.aborted) return
    Object.assign(this.draft, {
      home: this.home.value,
      to: this.to.value,
      reason: this.reason.value,
      reference: this.reference.value,
      blind: this.blind.checked,
      losses: this.losses.choice.value,
      lines: rows.map(row => ({texts: this.grid.texts(row), line: row.line})),
    })
    drafts.set(this.kind, this.draft)
  }

  /* ---- the skus of the lines are looked up */

  look() {
    this.draw()
    clearTimeout(this.later)
    this.later = setTimeout(() => this.lookUp(false), LOOK_MS)
  }

  /* Learns the skus that are not known, or all of them. A barcode becomes the code of its sku. */
  async lookUp(all) {
    const {grid, skus, page} = this
    clearTimeout(this.later)
    while (this.under_way) await this.under_way.catch(() => {})
    const asked = distinct(grid.filled().map(row => grid.text(row, 'sku'))).filter(
      text => isCode(text, SKU_MAX) && (all || !skus.has(text)),
    )
    this.under_way = skus.learn(asked, page.signal)
    await this.under_way.catch(unlessLeft(page)).finally(() => (this.under_way = null))
    if (page.signal.aborted) return
    for (const row of grid.filled()) {
      const s = skus.get(grid.text(row, 'sku'))
      if (s?.sku) row.cells.sku.value = s.sku
    }
    this.#join()
    this.draw()
  }

  /* A scanned line joins an earlier line of its sku and location. */
  #join() {
    for (const row of this.grid.rows.filter(r => r.line.scanned)) {
      const l = this.read(row),
        first = this.grid.filled().find(r => this.key(this.read(r)) === this.key(l))
      if (first === row || !(l.units > 0)) continue
      this.#more(first, l.units)
      this.grid.remove(row)
    }
  }
  #more(row, units) {
    row.cells.amount.value = String((int(row.cells.amount.value) || 0) + units)
    row.line.at = secondsAgo()
  }

  /* ---- lines that come from elsewhere */

  /* A scanned code is one unit more, in its line or in a new one. 12*CODE is twelve. */
  scan(text) {
    const [, n, sku] = /^(?:([1-9]\d{0,5})\*)?(.+)$/.exec(text.trim()) ?? []
    if (!sku) return
    const texts = {sku, amount: n ?? '1'}
    const row = this.grid.add(texts, {scanned: true, at: secondsAgo()}, this.grid.last())
    row.tr.scrollIntoView({block: 'nearest'})
    this.draw()
    this.lookUp(false)
  }

  paste(text, row, name) {
    const cells = readCells(text)
    if (cells[0].some(cell => cell.trim().toLowerCase() === 'sku'))
      this.load('What was pasted', new TextEncoder().encode(text))
    else if (this.fits('What was pasted', cells.length)) this.grid.fill(cells, row, name)
  }

  /* Whether the sheet has room for so many lines more; if not, it says so. wrong: why the file is no list. */
  fits(file, more, wrong) {
    const count = this.grid.filled().length + more
    if (count > LINES_MAX)
      wrong ??=
        `a sheet has up to ${number(LINES_MAX)} lines, and this would make ${number(count)}. ` +
        'holdfast import loads longer files.'
    put(this.told, wrong && h('div', {class: 'problem', role: 'alert'}, `${file}: ${wrong}`))
    return !wrong
  }

  /* The rows of a CSV file become lines, the bad ones with their reason. */
  load(file, bytes) {
    const list = readList(bytes, this.kind, this.home.value)
    if (!this.fits(file, list.rows?.length ?? 0, list.wrong)) return
    for (const row of list.rows) this.#loaded(row)
    put(
      this.told,
      `${file}: ${many(list.rows.length, 'line')}, separated by ${WORDS[list.separator]}.`,
      list.passed.length > 0 && [' These columns are passed over: ', said(list.passed.join(', ')), '.'],
      ' Nothing is changed yet.',
    )
    this.draw()
    this.lookUp(false)
  }
  #loaded({line: number, wrong, fields, ...row}) {
    const of = fields ?? row,
      out = this.kind === 'adjustment' && !fields
    const texts = {
      sku: of.sku,
      amount: String((out ? -of.qty : (of.qty ?? of.counted)) ?? ''),
      where: of.from ?? of.location,
      to: this.moves ? of.to : null,
    }
    const {expected, as_of, short, to} = row,
      more = {expected, as_of, short, ...(short && {to})}
    const comes = out && of.qty > 0 && 'its units come in; this sheet takes units out, by a qty below 0'
    const line = {number, wrong: wrong ?? (comes || undefined), more, at: secondsAgo()}
    this.grid.add(texts, line, this.grid.last())
  }

  /* A count of all that lies at the location. */
  async fill() {
    const had = new Set(this.grid.filled().map(row => this.read(row).sku))
    let cursor = null,
      full = false
    put(this.told, !this.home.value && h('div', {class: 'problem', role: 'alert'}, 'At which location?'))
    if (!this.home.value) return this.home.input.focus()
    do {
      const result = await this.page.get('skus' + query({location: this.home.value, limit: 1000, cursor}))
      put(this.told, unread(result))
      if (!result.ok) return
      for (const s of result.data.items) {
        if (s.locations[0].on_hand === 0 || had.has(s.sku)) continue
        full = this.grid.rows.length > LINES_MAX
        if (full) break
        this.skus.keep(s.sku, s)
        this.grid.add({sku: s.sku}, {}, this.grid.last())
      }
      cursor = result.data.next_cursor
    } while (cursor && !full)
    if (full) put(this.told, `More lies there: a sheet has up to ${number(LINES_MAX)} lines.`)
    this.draw()
    this.grid.focus(this.grid.rows[0], 'amount')
  }

  /* ---- the change */

  act(lines, sum) {
    if (this.counts) return `${this.is.does} ${many(lines.length, 'line')}`
    const promised = this.kind === 'receipt' && lines.length && lines.every(l => this.kindOf(l.where) === 'incoming')
    return `${promised ? 'Promise' : this.is.does} ${units(sum)}`
  }

  lineOf(row, l) {
    if (this.moves) return {sku: l.sku, from: l.where, to: l.to, qty: l.units}
    return {
      sku: l.sku,
      location: l.where,
      ...(this.counts
        ? {counted: l.units, as_of: new Date(row.line.at ?? secondsAgo()).toISOString()}
        : {qty: this.kind === 'adjustment' ? -l.units : l.units}),
      ...this.losses.member(this.kindOf(l.where) ?? 'stock'),
      ...Object.fromEntries(Object.entries(row.line.more ?? {}).filter(([, value]) => value != null)),
    }
  }

  async confirm() {
    if (this.send.disabled) return
    const rows = this.sent(),
      lines = rows.map(row => this.read(row)),
      sum = lines.reduce((n, l) => n + l.units, 0),
      new_skus = distinct(lines.filter(l => this.skus.get(l.text).isNew).map(l => l.sku)),
      new_places = distinct(lines.flatMap(this.ends)).filter(at => isNewPlace(this.places, at))
    const body = {
      movement_id: this.draft.id,
      kind: this.kind,
      create: new_skus.length + new_places.length > 0,
      lines: rows.map((row, i) => this.lineOf(row, lines[i])),
      ...(this.reason.value && {reason: this.reason.value}),
      ...(this.reference.value && {reference: this.reference.value}),
    }
    const stays = (what, all, more = '') =>
      all.length > 0 &&
      h('p', {class: 'warning'}, h('strong', null, many(all.length, what)), more, ', for ever: ', commas(all), '.')
    const result = await ask({
      title: this.is.title,
      danger: this.kind === 'adjustment',
      body: [stays('new sku', new_skus), stays('new location', new_places, ' for sale')].filter(Boolean),
      say: () => ({what: this.sentence(lines, sum), act: this.act(lines, sum)}),
      send: () => call('POST', 'movements', body),
      done: answer => this.outcome(answer, lines, sum),
    })
    forgetLocations()
    if (!result) return
    const {home, to, blind} = this.draft
    drafts.set(this.kind, {id: newId(this.kind), lines: [], home, to, blind})
    this.page.again()
  }

  sentence(lines, sum) {
    const from = commas(distinct(lines.map(l => l.where))),
      off = lines.map(l => l.units - this.there(l).on_hand).filter(Boolean),
      all = off.reduce((a, b) => a + b, 0)
    return [
      h('b', null, this.act(lines, sum)),
      this.counts ? '' : ` in ${many(lines.length, 'line')}`,
      this.moves ? [' from ', from, ' to ', commas(distinct(lines.map(l => l.to)))] : [' at ', from],
      !this.counts || this.isBlind()
        ? '.'
        : off.length
          ? `: ${number(off.length)} ${are(off.length, 'differs', 'differ')}, by ${signed(all)} in all.`
          : ': all as they were known.',
      this.losses.says(),
    ]
  }

  outcome({data, replayed}, lines, sum) {
    const off = data.lines.filter(l => l.qty !== 0 && this.kindOf(l.location) !== 'incoming')
    return [
      !this.counts
        ? `${this.is.did} ${units(sum)} in ${many(lines.length, 'line')}.`
        : off.length
          ? [
              `Counted ${many(lines.length, 'line')}: ${number(off.length)} ${are(off.length, 'differs', 'differ')}: `,
              commas(off.slice(0, 5), l => [toSku(l.sku), ' ', signed(l.qty)]),
              off.length > 5 ? ' …' : '.',
            ]
          : `Counted ${many(lines.length, 'line')}: all numbers were right.`,
      lost(data),
      asMovement(data, replayed),
    ]
  }

  /* ---- the page */

  #bar() {
    const file = h('input', {type: 'file', accept: '.csv,.tsv,.txt,text/csv', hidden: true, 'aria-label': 'CSV file'}),
      scanner = field('Scan or type a code', {
        maxlength: SKU_MAX + 7,
        hint: 'Enter adds one unit; 12*CODE adds twelve.',
      }),
      scanning = h('form', null, scanner.element)
    const take = async of => of && this.load(of.name, new Uint8Array(await of.arrayBuffer()))
    file.addEventListener('change', async () => {
      await take(file.files[0])
      file.value = ''
    })
    scanning.addEventListener('submit', event => {
      event.preventDefault()
      this.scan(scanner.value)
      scanner.input.value = ''
    })
    for (const name of ['dragover', 'drop'])
      addEventListener(
        name,
        event => {
          event.preventDefault()
          if (name === 'drop') take(event.dataTransfer.files[0])
        },
        {signal: this.page.signal},
      )
    scanner.input.addEventListener('paste', event => {
      const text = event.clipboardData.getData('text/plain')
      if (!hasCells(text)) return
      event.preventDefault()
      this.paste(text, this.grid.last(), 'sku')
    })
    this.scanner = scanner.input
    const nothing = () => {}
    this.filling = this.counts && asking(this.page, 'Fill with what lies there', () => this.fill(), nothing)
    return h(
      'div',
      {class: 'bar acts'},
      scanning,
      button('Load a CSV file', () => file.click()),
      file,
      this.filling,
      this.counts && button('Print', () => print()),
      button('Clear', () => {
        drafts.delete(this.kind)
        this.page.again()
      }),
    )
  }

  show() {
    const tab = ([kind, {title}]) =>
      h('a', {href: '#/sheet/' + kind, 'aria-current': kind === this.kind ? 'page' : null}, title)
    const all = [this.home, this.moves && this.to, this.reason, this.reference, ...this.losses.inputs].filter(Boolean)
    add(
      this.page.room,
      h('nav', {class: 'tabs', 'aria-label': 'Sheets'}, Object.entries(SHEETS).map(tab)),
      h(
        'div',
        {class: 'bar'},
        all.map(f => f.element),
        this.counts && h('label', {class: 'check'}, this.blind, ' Blind: do not show what is known'),
      ),
      this.#bar(),
      this.told,
      this.grid.element,
      this.summary,
      h('div', {class: 'buttons'}, this.send),
    )
    for (const f of all) f.input.addEventListener('input', () => this.draw())
    this.blind.addEventListener('change', () => this.draw())
    for (const {texts, line} of this.draft.lines) this.grid.add(texts, line)
    this.draw()
    this.lookUp(false)
    this.scanner.focus()
    if (!this.counts || !this.page.query.has('location')) return
    history.replaceState(null, '', '#/sheet/count') /* filled once: it can be cleared */
    if (!this.draft.lines.length) this.filling.click()
  }
}

export async function show(page) {
  const kind = SHEETS[page.params[0]] ? page.params[0] : 'receipt'
  page.title(SHEETS[kind].title)
  if (!mayChangeStock()) {
    put(page.room, h('p', {class: 'none'}, 'A key of role admin changes stock.'))
    return
  }
  const places = await locations(page.signal)
  if (!page.signal.aborted) new Sheet(page, kind, places).show()
}
