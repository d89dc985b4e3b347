/* glossary.js - the words of the console, behind the key `?`: the trade's, and what the service calls them. */
import {STATES, button, facts, h, onKey} from './dom.js'

const WORDS = [
  ['sku', 'one kind of goods, with a code of its own'],
  ['available', 'what new orders can have'],
  ['reserved', 'promised to orders that are held, confirmed or failed'],
  ['on hand', 'all that lies in the house'],
  ['aside', 'a location whose units are not for sale: damaged, returned, to be checked'],
  ['incoming', 'a location whose units are on their way; orders can wait for them'],
  ['ship', 'the units of an order leave the house. Holdfast: settle'],
  ['kick', 'a failed order goes back to the workers, which try again'],
  ['release', 'an order ends without being shipped, and its units are for sale again'],
  ['split', 'some units of an order get an order of their own'],
  ['on hold', 'an order that is not shipped until it is taken off hold'],
  ['backorder', 'an order that waits for units. Holdfast: waiting'],
  ['threshold', 'a sku is low when as many units or fewer are available'],
  ['task', 'orders that one worker has taken to ship them'],
  ['lease', 'how long a worker has a task; then others may have its orders'],
  ['webhook', 'an address of yours to which events are sent'],
]

function glossary() {
  const close = button('Close', () => dialog.close(), {class: 'primary'})
  const dialog = h(
    'dialog',
    {'aria-labelledby': 'glossary'},
    h('h2', {id: 'glossary'}, 'Words'),
    facts(WORDS),
    h('h3', null, 'States of an order'),
    facts(
      ['held', 'confirmed', 'settled', 'buried', 'released', 'expired'].map(name => {
        const [word, means] = STATES[name]
        return [word, means + (word === name ? '' : `. Holdfast: ${name}`)]
      }),
    ),
    h('div', {class: 'buttons'}, close),
  )
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
  close.focus({preventScroll: true})
}

/* The button that shows it, as the key ? does. */
export const help = button('?', glossary, {'aria-label': 'What the words mean', title: 'What the words mean: key ?'})
onKey('?', () => help.isConnected && glossary())
