/* ask.js - every change asks once, in a dialog that says what will be done, to how many units. Then it says the
 * outcome. If a call failed, it says the code in words and offers the same call again, with the same id. */
import {button, code, h, many, number, put, said} from './dom.js'
import {bearsRepeating, words} from './api.js'

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

const NAMES = {requested: 'asked for', in_order: 'in the order', on_hand: 'on hand', counted_at: 'counted at'}
function linesTable(lines) {
  const members = [...new Set(lines.flatMap(Object.keys))]
  const cell = v => (typeof v === 'number' ? number(v) : code(Array.isArray(v) ? v.join(', ') : (v ?? '')))
  return h(
    'div',
    {class: 'table'},
    h(
      'table',
      null,
      h(
        'thead',
        null,
        h(
          'tr',
          null,
          members.map(m => h('th', {scope: 'col'}, NAMES[m] ?? m)),
        ),
      ),
      h(
        'tbody',
        null,
        lines.slice(0, 20).map(line =>
          h(
            'tr',
            null,
            members.map(m => h('td', {class: typeof line[m] === 'number' ? 'number' : null}, cell(line[m]))),
          ),
        ),
      ),
    ),
    lines.length > 20 && h('p', {class: 'muted'}, `and ${many(lines.length - 20, 'more line')}`),
  )
}

/* Says in words why a call was refused or not answered, and what to do. With `read` (the call changes nothing): only
 * why, if the call may be sent again. */
export function problem(result, read = false) {
  const [what, then] = words(result.code),
    {detail, field, lines, parts} = result.data
  return h(
    'div',
    {class: 'problem', role: 'alert'},
    h('p', null, h('strong', null, what), ' ', read && bearsRepeating(result) ? '' : then),
    h(
      'p',
      {class: 'muted'},
      h('code', null, result.code),
      result.status ? ` ${result.status}` : '',
      field && [' · ', code(field)],
      detail && [' · ', said(detail)],
    ),
    Array.isArray(lines) && lines.length > 0 && linesTable(lines),
    Array.isArray(parts) &&
      parts.length > 0 &&
      h(
        'p',
        null,
        'Parts that have such units: ',
        parts.map(p => [code(p), ' ']),
      ),
  )
}

/* Says that a list or a fact could not be read, with a button to ask again. */
export const unread = (result, again) => h('div', null, problem(result, true), again && button('Ask again', again))

/* Shows a text that is shown only once, until the dialog is closed. */
export function showOnce(title, why, text) {
  return new Promise(resolve => {
    const close = button('I have it', () => dialog.close(), {class: 'primary'})
    const dialog = h(
      'dialog',
      {'aria-labelledby': 'once-title'},
      h('h2', {id: 'once-title'}, title),
      h('p', null, why),
      h('p', {class: 'sentence'}, code(text)),
      h('div', {class: 'buttons'}, close),
    )
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve()
    })
    document.body.append(dialog)
    dialog.showModal()
  })
}

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

/* A button for a dialog that names things as they are when it opens: read() asks for them again before does(). If they
 * cannot be read, the last known ones are named. */
export function asking(page, text, read, does, attributes) {
  let busy = false
  return button(
    text,
    async () => {
      if (busy) return
      busy = true
      try {
        await read().catch(e => {
          if (!page.signal.aborted) throw e
        })
        if (!page.signal.aborted) await does()
      } finally {
        busy = false
      }
    },
    attributes,
  )
}

/* Asks for a change. Resolves to the answer, or to null if the person has cancelled.
 * title; fields: elements; say() -> {what: the sentence, act: the words of the button} or {missing: why not yet};
 * send() -> a result of call(); done(result) -> the outcome in words, for the status line. */
export function ask({title, body = [], fields: inputs = [], say, send, done, danger}) {
  return new Promise(resolve => {
    let sending = false,
      answer = null,
      locked = false
    const sentence = h('p', {class: 'sentence', 'aria-live': 'polite'}),
      wrong = h('div')
    const act = h('button', {type: 'submit', class: danger ? 'danger' : 'primary'})
    const close = button('Cancel', () => dialog.close())
    const form = h(
      'form',
      {novalidate: true},
      h('h2', {id: 'dialog-title'}, title),
      body,
      inputs,
      sentence,
      wrong,
      h('div', {class: 'buttons'}, close, act),
    )
    const dialog = h('dialog', {'aria-labelledby': 'dialog-title'}, form)

    const refresh = () => {
      if (locked || sending) return
      const now = say()
      put(sentence, now.missing ? h('span', {class: 'muted'}, now.missing) : now.what)
      put(act, now.missing ? (now.act ?? 'Go on') : now.act)
      act.disabled = Boolean(now.missing)
    }
    const lock = on => {
      locked = on
      for (const e of form.querySelectorAll('input, select, textarea, .rows button')) e.disabled = on
    }
    form.addEventListener('input', refresh)
    form.addEventListener('refresh', refresh)
    form.addEventListener('submit', async event => {
      event.preventDefault()
      if (sending || act.disabled) return
      sending = act.disabled = true
      lock(true)
      put(act, 'Sending …')
      const result = await send(amount => put(act, amount))
      sending = act.disabled = false
      if (result.ok) {
        answer = result
        dialog.close()
        announce(done(result))
        return
      }
      put(wrong, problem(result))
      /* The call may have been done: the form is locked, so only the same call can be sent again. */
      lock(bearsRepeating(result))
      put(close, 'Close')
      if (locked) put(act, 'Send the same again')
      else refresh()
      wrong.scrollIntoView({block: 'nearest'})
      act.focus({preventScroll: true})
    })
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(answer)
    })
    document.body.append(dialog)
    refresh()
    dialog.showModal()
    const begin = inputs.map(i => i.querySelector('input, select, textarea')).find(Boolean) ?? close
    begin.focus()
    begin.select?.() /* typing replaces the offered value */
  })
}
