/* known.js - what a form has to know of the shop: its locations, and whether there is a sku of this code or barcode. */
import {call, get, query} from './api.js'

const PLACES_MAX = 1000,
  YOUNG_MS = 5000,
  ASKED_AT_ONCE = 500
let known = null /* {at, items} */

/* All locations, by code, 1,000 at most; null if they cannot be read. A young answer serves again: a search asks for
 * each text. */
export async function locations(signal) {
  if (known && Date.now() - known.at < YOUNG_MS) return known.items
  const result = await get(`locations?limit=${PLACES_MAX}`, {signal})
  if (!result.ok) return null
  known = {at: Date.now(), items: result.data.items}
  return known.items
}
/* After a change of this page. */
export const forgetLocations = () => {
  known = null
}
/* Whether a form that names this location makes it: a typing error makes one, too. */
export const isNewPlace = (all, location) =>
  all != null && all.length < PLACES_MAX && !all.some(p => p.location === location)

/* The location that a form offers: the only one of its kind, or main where it is one, or where there is none at all. */
export function homeOf(all, kind = 'stock') {
  const of_kind = (all ?? []).filter(p => p.kind === kind)
  if (of_kind.length === 1) return of_kind[0].location
  return of_kind.some(p => p.location === 'main') || all?.length === 0 ? 'main' : ''
}

/* The sku of this code or barcode, as the list of skus has it; null: there is none; undefined: it cannot be told. A
 * code that differs in case alone is another one: {like}. Of a barcode of several skus: {several}. */
export async function findSku(text, signal) {
  const by = [...text].length > 1 ? {q: text} : {prefix: text}
  const result = await get('skus' + query({...by, limit: 20}), {signal})
  if (!result.ok) return undefined
  const {items} = result.data,
    of_code = items.find(s => s.sku === text),
    of_barcode = items.filter(s => s.barcodes?.includes(text))
  if (of_code) return of_code
  if (of_barcode.length) return of_barcode.length === 1 ? of_barcode[0] : {several: of_barcode.map(s => s.sku)}
  const like = items.find(s => s.sku.toLowerCase() === text.toLowerCase())
  return like ? {like: like.sku} : null
}

/* What is known of codes and barcodes: {sku, name, at: location -> its figures}, {isNew, like}, {several} or
 * {unread}. */
export class Skus {
  #all = new Map()

  get = text => this.#all.get(text)
  has = text => this.#all.has(text) && !this.#all.get(text).unread
  /* What the list of skus or the call for stock has of one. */
  keep(text, s) {
    const found = {sku: s.sku, name: s.name, at: new Map((s.locations ?? []).map(p => [p.location, p]))}
    this.#all.set(text, found)
    this.#all.set(s.sku, found)
  }

  /* Asks for codes, 1,000 at most. A text that is no code may be a barcode. */
  async learn(texts, signal) {
    for (let i = 0; i < texts.length; i += ASKED_AT_ONCE) {
      const some = texts.slice(i, i + ASKED_AT_ONCE),
        result = await call('POST', 'stock', {skus: some}, {signal})
      const unknown = some.filter((text, k) => {
        const s = result.ok ? result.data.items[k] : {code: 'unread'}
        if (s.code) this.#all.set(text, {unread: true})
        else this.keep(text, s)
        return s.code
      })
      for (const text of result.ok ? unknown : []) await this.#find(text, signal)
    }
  }
  async #find(text, signal) {
    const found = await findSku(text, signal)
    if (found === undefined) return
    if (!found?.sku) {
      this.#all.set(text, found?.several ? found : {isNew: true, like: found?.like})
      return
    }
    const result = await call('POST', 'stock', {skus: [found.sku]}, {signal})
    if (result.ok) this.keep(text, result.data.items[0])
  }
}
