/* search.js - the field at the top of each page: orders, skus and locations by what people have of them. Enter opens
 * the first hit, so a scanned code opens its sku. */
import {code, h, many, onKey, put, said, state} from './dom.js'
import {get, query} from './api.js'
import {locations, skusLike} from './known.js'

const HITS = 5,
  WAIT_MS = 150
const isId = text => /^[ -~]{1,64}$/.test(text) && !/^\.\.?$/.test(text)

const toOrders = filter => '#/orders' + query(filter)
const orderHit = o => ({
  to: '#/order/' + encodeURIComponent(o.order_id),
  kind: 'order',
  what: [code(o.order_id), ' ', state(o.state)],
  more: [o.customer, o.reference].filter(Boolean).join(' · '),
})
const skuHit = s => ({to: '#/sku/' + encodeURIComponent(s.sku), kind: 'sku', what: [code(s.sku)], more: s.name ?? ''})
/* A hit for what has no room among the hits. */
const restHits = (found, to, kind, what) => (found.next_cursor ? [{to, kind, what: [what], more: ''}] : [])
/* The hits of [orders that have this customer or reference whole, those with one that begins so]. The list is sorted by
 * it. */
function notedHits(kind, text, found) {
  const whole = found.items.filter(o => o[kind] === text),
    others = found.items.slice(whole.length).map(orderHit),
    more = many(whole.length, 'order') + (found.next_cursor && !others.length ? ' or more' : '')
  return [
    whole.length > 1 ? [{to: toOrders({[kind]: text}), kind, what: [code(text)], more}] : whole.map(orderHit),
    [
      ...others,
      ...restHits(found, toOrders({[kind + '_prefix']: text}), 'orders', `all with a ${kind} that begins so`),
    ],
  ]
}

/* The hits for a text, the best first: what is called so, then what begins so or has it in it. */
async function hitsFor(text, signal) {
  const ask = async at => {
    const result = await get(at, {signal})
    return result.ok ? result.data : {items: [], failed: true}
  }
  const none = {items: []},
    of = filter => ask('reservations' + query({...filter, limit: HITS}))
  const [begins, customer, reference, skus, places] = await Promise.all([
    isId(text) ? of({prefix: text}) : none,
    isId(text) ? of({customer_prefix: text}) : none,
    of({reference_prefix: text}),
    ask('skus' + query({...skusLike(text), limit: HITS})),
    locations(signal),
  ])
  const lower = text.toLowerCase(),
    is = s => s.sku.toLowerCase() === lower || s.barcodes?.includes(text),
    has = (places ?? []).filter(p => p.location.toLowerCase().includes(lower)),
    placeHit = p => ({
      to: '#/location/' + encodeURIComponent(p.location),
      kind: 'location',
      what: [code(p.location)],
      more: p.kind,
    })
  const named = p => p.location.toLowerCase() === lower,
    [ofCustomer, likeCustomer] = notedHits('customer', text, customer),
    [withReference, likeReference] = notedHits('reference', text, reference)
  const hits = [
    ...begins.items.filter(o => o.order_id === text).map(orderHit),
    ...skus.items.filter(is).map(skuHit),
    ...has.filter(named).map(placeHit),
    ...ofCustomer,
    ...withReference,
    ...begins.items.filter(o => o.order_id !== text).map(orderHit),
    ...restHits(begins, toOrders({prefix: text}), 'orders', 'all that begin so'),
    ...likeCustomer,
    ...likeReference,
    ...skus.items.filter(s => !is(s)).map(skuHit),
    ...restHits(skus, '#/stock' + query({q: text}), 'skus', 'all with this text'),
    ...has
      .filter(p => !named(p))
      .slice(0, HITS)
      .map(placeHit),
  ]
  const seen = new Set()
  return {
    hits: hits.filter(hit => !seen.has(hit.to) && seen.add(hit.to)),
    failed: places == null || [begins, customer, reference, skus].some(r => r.failed),
  }
}

/* The field and its list of hits. */
export function search() {
  let found = null /* {text, hits, failed} of the last answer */,
    asked = null /* {text, answer, abort} of the search under way */,
    chosen = -1,
    later
  const input = h('input', {
    id: 'search',
    type: 'search',
    role: 'combobox',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: 166 /* 500 bytes */,
    placeholder: 'Find an order, a sku, a place',
    title: 'The key / comes here. Orders by how id, customer or reference begins; a sku by code, name or barcode.',
    'aria-label': 'Find an order, a sku or a location',
    'aria-expanded': 'false',
    'aria-controls': 'hits',
    'aria-autocomplete': 'list',
  })
  const list = h('ul', {id: 'hits', role: 'listbox', 'aria-label': 'Hits', hidden: true}),
    told = h('p', {class: 'told', role: 'status', hidden: true})
  const form = h('form', {class: 'search', role: 'search'}, input, list, told)

  const close = () => {
    list.hidden = told.hidden = true
    input.setAttribute('aria-expanded', 'false')
    input.removeAttribute('aria-activedescendant')
    chosen = -1
  }
  const choose = i => {
    chosen = i
    ;[...list.children].forEach((e, n) => e.setAttribute('aria-selected', String(n === i)))
    if (i < 0) input.removeAttribute('aria-activedescendant')
    else input.setAttribute('aria-activedescendant', 'hit-' + i)
    list.children[i]?.scrollIntoView({block: 'nearest'})
  }
  const open = hit => {
    close()
    input.value = ''
    found = null
    input.blur()
    if (location.hash === hit.to) dispatchEvent(new Event('hashchange'))
    else location.hash = hit.to
  }
  const show = () => {
    list.replaceChildren(
      ...found.hits.map((hit, i) =>
        h(
          'li',
          {
            id: 'hit-' + i,
            role: 'option',
            'aria-selected': 'false',
            onmousedown: e => e.preventDefault(),
            onclick: () => open(hit),
          },
          h('span', {class: 'muted'}, hit.kind),
          h('span', null, hit.what),
          h('span', {class: 'muted'}, said(hit.more)),
        ),
      ),
    )
    list.hidden = !found.hits.length
    input.setAttribute('aria-expanded', String(found.hits.length > 0))
    const words = found.failed ? 'Not all could be looked at.' : found.hits.length ? '' : 'Nothing is called so.'
    put(told, words)
    told.hidden = !words
    choose(-1)
  }
  /* Asks once for each text. Resolves to whether the answer is of the text that stands there now. */
  const look = async () => {
    const text = input.value.trim()
    if (!text) {
      asked?.abort.abort()
      asked = found = null
      close()
      return false
    }
    if (found?.text === text) return true
    if (asked?.text !== text) {
      asked?.abort.abort()
      const abort = new AbortController()
      asked = {text, abort, answer: hitsFor(text, abort.signal)}
    }
    let answer
    try {
      answer = await asked.answer
    } catch (e) {
      if (e.name === 'AbortError') return false
      throw e
    }
    if (input.value.trim() !== text) return false
    found = {text, ...answer}
    asked = null
    show()
    return true
  }
  input.addEventListener('input', () => {
    clearTimeout(later)
    later = setTimeout(look, WAIT_MS)
  })
  input.addEventListener('focus', () => found && show())
  input.addEventListener('blur', close)
  input.addEventListener('keydown', event => {
    const n = found?.hits.length ?? 0
    if (event.key === 'Escape') {
      if (list.hidden && told.hidden) input.blur()
      else close()
    } else if ((event.key === 'ArrowDown' || event.key === 'ArrowUp') && n && !list.hidden) {
      choose((chosen + (event.key === 'ArrowDown' ? 1 : chosen < 0 ? n : n - 1)) % n)
    } else return
    event.preventDefault()
  })
  form.addEventListener('submit', async event => {
    event.preventDefault()
    clearTimeout(later)
    if (await look()) {
      const hit = found.hits[Math.max(chosen, 0)]
      if (hit) open(hit)
    }
  })
  onKey('/', () => {
    input.focus()
    input.select()
  })
  return form
}
