/* ask.js - every change asks once, in a dialog that says what will be done, to how many units. Then it says the
 * outcome. If a call failed, it says the code in words and offers the same call again, with the same id. */
import {announce, button, code, h, put} from './dom.js'
import {bearsRepeating, problem} from './api.js'

/* What the first page needs stands in modules that come with it. */
export {announce, field, int} from './dom.js'
export {problem, unread} from './api.js'

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

/* What is done with a failure: calls of a page that was left are ended. */
export const unlessLeft = page => e => {
  if (!page.signal.aborted) throw e
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
        await read().catch(unlessLeft(page))
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
    const begin =
      form.querySelector('[autofocus]') ??
      inputs.map(i => i.querySelector('input, select, textarea')).find(Boolean) ??
      close
    begin.focus()
    if (begin.rows) begin.setSelectionRange(begin.value.length, begin.value.length)
    else begin.select?.() /* typing replaces the offered value */
  })
}
