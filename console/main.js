/* main.js - the frame: the key, the pages by the address after #, and when they ask again. */
import {button, clockTime, code, h, put, quiet, tell} from './dom.js'
import {askAhead, call, get, may, session} from './api.js'

/* Each page is a module with show(page); the first word behind #/ names it. A page of one thing is `of` its list.
 * needs: the modules that it imports, directly or not, and main does not, so that a browser asks for all at once.
 * ahead: the calls with which it begins.
 *
 * The first page takes three round trips: index.html; what that names, in six connections at most; the calls. What the
 * first page can do without (the search, the glossary, the plots) comes after it. */
const WEBHOOKS = 'webhooks?limit=100'
const AHEAD = ['/readyz?verbose', 'jobs', 'stats', 'tasks?limit=200', WEBHOOKS]
const LIST = 'ask export known list ',
  ORDER = LIST + 'changes together ',
  STOCK = LIST + 'settings '
const PAGES = [
  {name: 'now', title: 'Now', module: './now.js', ahead: AHEAD},
  {name: 'stock', title: 'Stock', module: './stock.js', needs: STOCK},
  {name: 'sku', of: 'stock', title: 'Stock', module: './sku.js', needs: STOCK + 'movements moving plots stock uplot'},
  {name: 'sheet', of: 'stock', title: 'Sheet', module: './sheet.js', needs: 'ask csv grid known moving'},
  {name: 'locations', also: ['location'], title: 'Locations', module: './places.js', needs: STOCK + 'stock'},
  {name: 'orders', title: 'Orders', module: './orders.js', needs: ORDER},
  {name: 'order', of: 'orders', title: 'Orders', module: './order.js', needs: ORDER + 'orders'},
  {name: 'jobs', title: 'Jobs', module: './jobs.js', needs: ORDER + 'orders'},
  {name: 'events', also: ['webhook'], title: 'Events', module: './events.js', needs: 'ask export list'},
]
const byName = Object.fromEntries(PAGES.flatMap(p => [p.name, ...(p.also ?? [])].map(name => [name, p])))
const pageOf = name => byName[name] ?? PAGES[0]
const main = document.getElementById('main')

/* ---- asking again and again: one timer for each thing that is shown, none in a hidden tab */

const AFTER_ERRORS_MS = [1000, 2000, 5000, 10000]
class Poll {
  constructor(ask, every_ms, signal) {
    Object.assign(this, {ask, every_ms, signal, errors: 0, timer: null, under_way: false, once_more: false})
    const seen = () => {
      if (!document.hidden) this.now()
    }
    document.addEventListener('visibilitychange', seen, {signal})
    signal.addEventListener('abort', () => clearTimeout(this.timer))
    this.now()
  }

  /* A call that takes longer than its period delays the next one. If now() is called meanwhile, another call follows at
   * once, as the answer under way may be from before. */
  async now() {
    clearTimeout(this.timer)
    if (this.under_way) this.once_more = true
    if (this.under_way || this.signal.aborted || document.hidden) return
    this.under_way = true
    this.once_more = false
    let result
    try {
      result = await this.ask(this.signal)
    } catch (e) {
      if (this.signal.aborted) return
      throw e
    } finally {
      this.under_way = false
    }
    if (this.signal.aborted) return
    heard(result)
    this.errors = result?.ok === false ? this.errors + 1 : 0
    const wait_ms = this.errors ? AFTER_ERRORS_MS[Math.min(this.errors, AFTER_ERRORS_MS.length) - 1] : this.every_ms
    this.timer = setTimeout(() => this.now(), this.once_more ? 0 : wait_ms)
  }
}

/* Shows a line while the service does not answer: after a failed call, and when one has had no answer for 3 s. */
const line = document.getElementById('link'),
  BEFORE = 'What is shown is from before; this page goes on by itself when it is back.'
session.slow.push(since => {
  line.hidden = since == null
  if (since != null) tell(line, `No answer from the service since ${clockTime(since)}. ${BEFORE}`)
})
function heard(result) {
  if (!result) return
  const lost = result.ok === false && (result.status === 0 || result.status === 503)
  line.hidden = !lost
  if (lost) tell(line, (result.status ? 'The database does not answer. ' : 'The service does not answer. ') + BEFORE)
}

/* ---- pages */

let leave = new AbortController(),
  first = true

function where() {
  const [at, rest] = (location.hash.startsWith('#/') ? location.hash.slice(2) : 'now').split('?')
  const [name, ...params] = at.split('/')
  let decoded = []
  try {
    decoded = params.map(decodeURIComponent)
  } catch {
    /* no page of the console has such a link */
  }
  return {name, params: decoded, query: new URLSearchParams(rest ?? '')}
}

const wanted = new Set()
/* The module of a page, with all that it needs. */
function fetched({module, needs = ''}) {
  for (const name of needs.split(' ').filter(n => n && !wanted.has(n))) {
    wanted.add(name)
    document.head.append(h('link', {rel: 'modulepreload', href: name + '.js'}))
  }
  return import(module)
}

/* told: the status line tells what has just been done here, and stays. */
async function go(told = false) {
  leave.abort()
  if (!told) quiet()
  leave = new AbortController()
  const {signal} = leave,
    {name, params, query} = where(),
    page = pageOf(name)
  for (const a of nav.children) {
    if (a.dataset.page === (page.of ?? page.name)) a.setAttribute('aria-current', 'page')
    else a.removeAttribute('aria-current')
  }
  const title = h('h1', {tabindex: '-1'}, page.title),
    room = h('div', {class: 'page', id: 'page'})
  main.replaceChildren(title, room)
  document.title = page.title + ' – Holdfast'
  if (!first) title.focus({preventScroll: true})
  if (!first) scrollTo(0, 0)
  first = false
  try {
    const {show} = await fetched(page)
    if (signal.aborted) return
    await show({
      name,
      params,
      query,
      signal,
      room,
      may,
      title: (...text) => {
        put(title, ...text)
        document.title = title.textContent + ' – Holdfast'
      },
      /* Asks at once, and then every every_s seconds while the page is visible. ask(signal) -> a result of call(). */
      poll: (ask, every_s) => new Poll(ask, every_s * 1000, signal),
      get: (at, options) => get(at, {signal, ...options}),
      again: () => go(true),
    })
  } catch (e) {
    if (signal.aborted) return
    if (!(e instanceof TypeError && /import|module|fetch/i.test(e.message))) throw e
    put(
      room,
      h('div', {class: 'problem', role: 'alert'}, h('p', null, 'This page could not be fetched from the service.')),
      button('Load it again', () => location.reload()),
    )
  }
}

/* The contract as the service has it. A link sends no key. With a key the console asks for the file, and saves it. */
const CONTRACT = 'openapi.yaml'
async function contract(event) {
  if (!session.key()) return
  event.preventDefault()
  const result = await get('/' + CONTRACT, {text: true})
  heard(result)
  if (!result.ok) return
  const {save} = await import('./export.js')
  save(CONTRACT, 'application/yaml', result.data)
}

const nav = document.getElementById('nav')
function navigation() {
  const link = h('a', {href: '../' + CONTRACT, download: CONTRACT}, 'Contract')
  link.addEventListener('click', contract)
  const lists = PAGES.filter(p => !p.of)
  nav.replaceChildren(...lists.map(p => h('a', {href: '#/' + p.name, 'data-page': p.name}, p.title)), link)
}

/* ---- the key */

const readable = () => location.protocol === 'http:' && !/^(localhost|127\.[\d.]+|\[::1\])$/.test(location.hostname)

function askKey(why) {
  session.roles = []
  leave.abort()
  nav.replaceChildren()
  put(document.getElementById('who'))
  put(document.getElementById('find'))
  document.title = 'Holdfast'
  const input = h('input', {
    id: 'key',
    type: 'password',
    autocomplete: 'off',
    spellcheck: 'false',
    required: true,
    'aria-describedby': 'key-hint',
  })
  const form = h(
    'form',
    {class: 'key'},
    h('h1', null, 'This service asks for a key'),
    why && h('p', {class: 'problem', role: 'alert'}, why),
    h(
      'div',
      {class: 'field'},
      h('label', {for: 'key'}, 'Key'),
      input,
      h(
        'small',
        {id: 'key-hint'},
        'One line that `holdfast key new` printed. It is kept in this tab until you close it.',
      ),
    ),
    readable() && h('p', {class: 'warning'}, 'This page came over plain http: machines on the way can read the key.'),
    h('div', {class: 'buttons'}, h('button', {type: 'submit', class: 'primary'}, 'Go on')),
  )
  form.addEventListener('submit', event => {
    event.preventDefault()
    session.keep(input.value.trim())
    begin()
  })
  main.replaceChildren(form)
  input.focus()
}

function whoIsThere() {
  const who = document.getElementById('who')
  who.title = `${session.service} · instance ${session.instance}`
  put(
    who,
    session.name
      ? [code(session.name), ' ', h('span', {class: 'muted'}, session.roles.join(', '))]
      : h('span', {class: 'muted'}, 'no keys: all calls are permitted'),
  )
  if (session.key())
    who.append(
      ' ',
      button('Forget the key', () => forget(null), {class: 'plain'}),
    )
}

async function findAndHelp() {
  try {
    const [{search}, {help}] = await Promise.all([import('./search.js'), import('./glossary.js')])
    if (session.roles.length) document.getElementById('find').replaceChildren(search(), help)
  } catch {
    setTimeout(findAndHelp, 5000) /* the service does not answer: the page says so */
  }
}

function forget(why) {
  session.forget()
  askKey(why)
}

async function begin(again = false) {
  const page = pageOf(where().name)
  if (!again) {
    /* Whether a key may see webhooks is not known yet. */
    askAhead((page.ahead ?? []).filter(at => at !== WEBHOOKS || !session.key()))
    fetched(page).catch(() => {})
  }
  const result = await call('GET', 'key')
  if (!result.ok) {
    if (result.status === 401) return
    heard(result)
    if (result.status === 0 || result.status === 503 || result.status === 429) setTimeout(() => begin(true), 2000)
    else
      put(main, h('div', {class: 'problem', role: 'alert'}, 'This service is of another version: load the page again.'))
    return
  }
  heard(result)
  Object.assign(session, {
    name: result.data.name ?? null,
    roles: result.data.roles,
    service: result.data.service,
    instance: result.data.instance,
  })
  whoIsThere()
  navigation()
  go().then(() => findAndHelp())
}

session.listeners.push(() => forget(session.key() ? 'The service does not know this key.' : null))
addEventListener('hashchange', () => {
  if (session.roles.length) go()
})
document.querySelector('.skip').addEventListener('click', event => {
  event.preventDefault()
  main.focus()
})
begin()
