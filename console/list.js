/* list.js - a list that the service gives page by page. It asks for pages by itself until it has 100 rows or the end; a
 * button asks for more. A list of one page is refreshed while it is visible. */
import {button, h, many, put} from './dom.js'
import {query} from './api.js'
import {announce, unread} from './ask.js'
import {csv, saveCsv} from './export.js'

export const ROWS = 100
const SAVED_MAX = 100000,
  WALKED = 20 /* most pages that it asks for by itself */

/* at() -> [the path of the call, what is asked]; empty: the text for an empty list; keep(item) -> whether an item is
 * shown; complete(items): adds to the items of a page what other calls know; seen(items): told what is shown. */
export class List {
  constructor(page, {table, at, empty, every_s = 5, what = 'row', keep = () => true, complete, seen}) {
    Object.assign(this, {
      page,
      table,
      at,
      empty,
      keep,
      complete,
      seen,
      what,
      items: [],
      cursor: null,
      pages: 0,
      busy: false,
      round: 0,
    })
    this.more = h('div', {class: 'more', 'aria-live': 'polite'})
    this.none = h('p', {class: 'none'}, 'Looking …')
    this.wrong = h('div')
    this.element = h('div', null, this.wrong, this.none, table.element, this.more)
    table.element.hidden = true
    page.poll(() => (this.pages > 1 ? null : this.first()), every_s)
  }

  #show(walking) {
    this.table.show(this.items)
    this.seen?.(this.items)
    this.table.element.hidden = this.items.length === 0
    this.none.hidden = this.items.length > 0
    put(this.none, walking ? 'Looking on …' : this.cursor ? 'Nothing so far.' : this.empty)
    const found = many(this.items.length, this.what)
    const told = JSON.stringify([found, walking, this.cursor != null, this.pages > 1])
    if (told === this.told) return
    this.told = told
    if (walking) put(this.more, `${found} so far, looking on …`)
    else
      this.more.replaceChildren(
        this.items.length ? found : '',
        this.cursor
          ? button(this.items.length && this.items.length % ROWS === 0 ? 'Show more' : 'Look on', () => this.next())
          : '',
        this.pages > 1 ? button('Begin again', () => this.again()) : '',
        this.items.length ? csv(() => this.save()) : '',
      )
  }

  #page(cursor) {
    const [path, asked] = this.at()
    return this.page.get(path + query({...asked, limit: ROWS, cursor}))
  }

  /* Pages may be empty before the end. */
  async #walk(items, cursor, until) {
    const round = ++this.round
    this.busy = true
    try {
      for (let pages = 0; ; pages++) {
        const result = await this.#page(cursor)
        if (round !== this.round) return null /* a newer walk has begun meanwhile */
        if (!result.ok) {
          put(this.wrong, unread(result))
          this.none.hidden = true
          return result
        }
        put(this.wrong)
        const came = result.data.items.filter(this.keep)
        await this.complete?.(came)
        if (round !== this.round) return null
        items = items.concat(came)
        cursor = result.data.next_cursor
        this.items = items
        this.cursor = cursor
        if (pages > 0) this.pages++
        if (!cursor || items.length >= until || pages + 1 >= WALKED) {
          this.#show(false)
          return result
        }
        this.#show(true)
      }
    } catch (e) {
      if (!this.page.signal.aborted) throw e
      return null
    } finally {
      if (round === this.round) this.busy = false
    }
  }

  first() {
    if (this.busy) return null
    this.pages = 1
    return this.#walk([], null, ROWS)
  }

  next() {
    if (this.busy || !this.cursor) return null
    this.pages++
    return this.#walk(this.items, this.cursor, this.items.length + ROWS)
  }

  again() {
    this.busy = false
    return this.first()
  }

  /* All of the list, as it is filtered, as a file; not only what is shown. */
  async save() {
    const {table} = this
    let items = [],
      cursor = null
    try {
      do {
        const result = await this.#page(cursor)
        if (!result.ok) return put(this.wrong, unread(result))
        const came = result.data.items.filter(this.keep)
        await this.complete?.(came)
        items = items.concat(came)
        cursor = result.data.next_cursor
        if (cursor) announce(`${many(items.length, this.what)} so far …`)
      } while (cursor && items.length < SAVED_MAX)
    } catch (e) {
      if (!this.page.signal.aborted) throw e
      return
    }
    saveCsv(table, items)
    announce(`${many(items.length, this.what)} saved${cursor ? ', the first ones' : ''}.`)
  }

  /* Another table from now on: the rows that are known are none of it. The caller asks for the list again. */
  use(table) {
    table.element.hidden = true
    this.table.element.replaceWith(table.element)
    this.table = table
    this.items = []
    this.none.hidden = false
    put(this.none, 'Looking …')
    put(this.more)
    this.told = null
  }

  /* Something has changed: asks for the list again, unless the reader has opened later pages. */
  look() {
    return this.pages > 1 ? null : this.again()
  }
}
