/* known.js - what a form has to know of the shop: its locations, and whether there is a sku of this code or barcode. */
import {call, get, query} from './api.js'

const PLACES_MAX = 1000,
  YOUNG_MS = 5000,
  ASKED_AT_ONCE = 500,
  FOUND_AT_ONCE = 5
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

/* Whether a text can be a code, as commands/import/ and the service judge it. */
const HIDDEN = new RegExp(
  String.raw`[\0-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e` +
    String.raw`\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff` +
    String.raw`\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}]`,
  'u',
)
const SPACE = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/
const bytesOf = text => new TextEncoder().encode(text).length

export const SKU_MAX = 128,
  LOCATION_MAX = 64
export function isCode(text, max) {
  if (!text || bytesOf(text) > max || SPACE.test(text[0]) || SPACE.test(text.at(-1))) return false
  return !HIDDEN.test(text) && text !== '.' && text !== '..'
}

/* make(at, body): a PUT that makes a thing, and refuses a code that is there. Where the PUT itself is sent again, it is
 * the same one. */
export function maker() {
  let asked = null
  return async (at, body) => {
    if (asked !== at) {
      const there = await get(at)
      if (there.ok) return {ok: false, status: null, data: {}, code: 'exists'}
      if (there.status !== 404) return there
      asked = at
    }
    return call('PUT', at, body)
  }
}

/* The filter of a list of skus by what people type; a search takes two characters at least. */
export const skusLike = text => ([...text].length > 1 ? {q: text} : {prefix: text})

/* The sku of this code or barcode, as the list of skus has it; null: there is none; undefined: it cannot be told. A
 * code that differs in case alone is another one: {like}. Of a barcode of several skus: {several}. */
export async function findSku(text, signal) {
  const result = await get('skus' + query({...skusLike(text), limit: 20}), {signal})
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
      const next = (result.ok ? unknown : []).values(),
        work = async () => {
          for (const text of next) await this.#find(text, signal)
        }
      await Promise.all(Array.from({length: FOUND_AT_ONCE}, work))
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
