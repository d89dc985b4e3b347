/* yaml.js - reads the YAML that the contract is written in: block maps and lists, flow ones, plain and quoted scalars,
 * and texts behind |. Anything else throws. */

const NUMBER = /^-?(0|[1-9]\d*)(\.\d+)?$/
const WORDS = {true: true, false: false, null: null, '~': null, '': null}

/* A scalar or a flow collection, on one line. */
class Flow {
  constructor(text) {
    this.text = text
    this.at = 0
  }
  blank() {
    while (this.text[this.at] === ' ') this.at++
  }
  quoted() {
    const mark = this.text[this.at++]
    let out = ''
    for (;;) {
      const c = this.text[this.at++]
      if (c === undefined) throw new Error('a quote is open: ' + this.text)
      if (c === mark && mark === "'" && this.text[this.at] === "'") {
        out += "'"
        this.at++
      } else if (c === mark) return out
      else if (c === '\\' && mark === '"') {
        const next = this.text[this.at++]
        out += {n: '\n', t: '\t', '"': '"', '\\': '\\', '/': '/'}[next] ?? JSON.parse(`"\\${next}"`)
      } else out += c
    }
  }
  plain(ends) {
    const from = this.at
    while (this.at < this.text.length && !ends.includes(this.text[this.at])) {
      if (this.text[this.at] === ':' && ends && (this.text[this.at + 1] === ' ' || this.at + 1 === this.text.length))
        break
      this.at++
    }
    return this.text.slice(from, this.at).trim()
  }
  value(ends = '') {
    this.blank()
    const c = this.text[this.at]
    if (c === '{') return this.map()
    if (c === '[') return this.list()
    if (c === '"' || c === "'") return this.quoted()
    return scalar(this.plain(ends))
  }
  list() {
    const out = []
    this.at++
    for (this.blank(); this.text[this.at] !== ']'; this.blank()) {
      out.push(this.value(',]'))
      this.comma(']')
    }
    this.at++
    return out
  }
  map() {
    const out = {}
    this.at++
    for (this.blank(); this.text[this.at] !== '}'; this.blank()) {
      const quoted = /['"]/.test(this.text[this.at])
      const name = quoted ? this.quoted() : this.plain(',}:')
      this.blank()
      if (this.text[this.at++] !== ':') throw new Error('a name without a value: ' + this.text)
      out[name] = this.value(',}')
      this.comma('}')
    }
    this.at++
    return out
  }
  comma(end) {
    this.blank()
    if (this.text[this.at] === ',') this.at++
    else if (this.text[this.at] !== end) throw new Error('no comma: ' + this.text)
  }
}
function scalar(text) {
  if (text in WORDS) return WORDS[text]
  return NUMBER.test(text) ? Number(text) : text
}
function inline(text) {
  const flow = new Flow(text),
    value = flow.value()
  flow.blank()
  if (flow.at < text.length && text[flow.at] !== '#') throw new Error('something is left: ' + text)
  return value
}

/* A flow collection may go on over lines. */
const open = text => {
  const bare = text.replace(/'[^']*'|"[^"]*"/g, '')
  return (bare.match(/[[{]/g)?.length ?? 0) > (bare.match(/[\]}]/g)?.length ?? 0)
}

const NAME = /^('[^']*'|"[^"]*"|[^\s#'"{[][^:]*?):(?: +(.*))?$/

export function read(text) {
  const lines = text.split('\n')
  let at = 0
  const depth = line => line.length - line.trimStart().length
  const skip = () => {
    while (at < lines.length && /^\s*(#.*)?$/.test(lines[at])) at++
  }

  function block(indent) {
    const out = []
    while (at < lines.length && (!lines[at].trim() || depth(lines[at]) >= indent)) out.push(lines[at++].slice(indent))
    while (out.length && !out.at(-1).trim()) out.pop()
    return out.map(line => line.trimEnd() && line).join('\n') + '\n'
  }
  /* The value after a name or a dash, or in the lines below it. */
  function behind(rest, indent) {
    if (rest === '|') {
      skipBlank()
      return block(depth(lines[at]))
    }
    if (rest) {
      while (/^[[{]/.test(rest) && open(rest)) rest += ' ' + lines[at++].trim()
      return inline(rest)
    }
    skip()
    const deeper =
      at < lines.length &&
      (depth(lines[at]) > indent || (depth(lines[at]) === indent && lines[at].trim().startsWith('- ')))
    return deeper ? node(depth(lines[at])) : null
  }
  function skipBlank() {
    while (at < lines.length && !lines[at].trim()) at++
  }
  function node(indent) {
    return lines[at].trim().startsWith('- ') ? list(indent) : map(indent)
  }
  function list(indent) {
    const out = []
    for (skip(); at < lines.length && depth(lines[at]) === indent && lines[at].trim().startsWith('- '); skip()) {
      const rest = lines[at].trim().slice(2)
      if (NAME.test(rest) && !/^['"{[]/.test(rest)) {
        lines[at] = ' '.repeat(indent + 2) + rest
        out.push(map(indent + 2))
      } else {
        at++
        out.push(behind(rest, indent))
      }
    }
    return out
  }
  function map(indent) {
    const out = {}
    for (skip(); at < lines.length && depth(lines[at]) === indent && !lines[at].trim().startsWith('- '); skip()) {
      const found = NAME.exec(lines[at].trim())
      if (!found) throw new Error(`line ${at + 1} is no member: ${lines[at]}`)
      at++
      const name = /^['"]/.test(found[1]) ? inline(found[1]) : found[1]
      out[name] = behind(found[2] ?? '', indent)
    }
    return out
  }

  skip()
  const value = node(0)
  skip()
  if (at < lines.length) throw new Error(`line ${at + 1} is not understood: ${lines[at]}`)
  return value
}
