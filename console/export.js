/* export.js - a list as a CSV file: the columns of its table, times in UTC, numbers without separators. */
import {add, button, h} from './dom.js'

/* A text that begins as a formula does gets an apostrophe, so that no spreadsheet counts it as one. */
const quoted = (text, number) => {
  const safe = !number && /^[=+\-@\t\r]/.test(text) ? "'" + text : text
  return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe
}
function cellText(column, item) {
  const cell = add(h('td'), column.cell(item) ?? '')
  cell.querySelectorAll('time').forEach(t => t.replaceChildren(t.dateTime))
  cell.querySelectorAll('br').forEach(e => e.replaceWith(' '))
  return column.number ? quoted(cell.textContent.replaceAll(',', ''), true) : quoted(cell.textContent.trim())
}
export function csvOf(columns, items) {
  const told = columns.filter(c => !c.act && !c.tick)
  const rows = [told.map(c => quoted(c.head || 'notes')), ...items.map(item => told.map(c => cellText(c, item)))]
  return '\ufeff' + rows.map(row => row.join(',') + '\r\n').join('')
}

/* Saves a text as a file of the browser. */
export function save(name, type, text) {
  const file = URL.createObjectURL(new Blob([text], {type}))
  h('a', {href: file, download: name}).click()
  URL.revokeObjectURL(file)
}
export const saveCsv = ({label, columns}, items) =>
  save(label.replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 60) + '.csv', 'text/csv', csvOf(columns, items))
export const csv = save => button('CSV', save, {title: 'Save all of this list as a file'})
