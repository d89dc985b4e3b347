/* contract.js - the contract of the service as a page, made of its own /openapi.yaml. */
import {add, code, h, put} from './dom.js'
import {unread} from './ask.js'
import {read} from './yaml.js'

/* Text of the contract: paragraphs, lists, `words` and **words**. */
function inline(text) {
  return text
    .split(/(`[^`]+`|\*\*[^*]+\*\*)/)
    .map(part =>
      part.startsWith('`')
        ? h('code', null, part.slice(1, -1))
        : part.startsWith('**')
          ? h('strong', null, part.slice(2, -2))
          : part,
    )
}
function prose(text = '') {
  const parts = []
  const fences = text.split(/^```\n?/m)
  fences.forEach((part, i) => {
    if (i % 2) parts.push(h('pre', null, part.trimEnd()))
    else
      for (const paragraph of part.split(/\n\s*\n/)) {
        const headed = /^## (.+)\n?/.exec(paragraph.trimStart())
        if (headed) parts.push(h('h3', null, headed[1]))
        const rest = headed ? paragraph.trimStart().slice(headed[0].length) : paragraph
        if (rest.trim()) parts.push(h('p', null, inline(rest.trim().replace(/\s*\n\s*/g, ' '))))
      }
  })
  return parts
}

class Contract {
  constructor(document) {
    this.document = document
  }
  resolve(node) {
    if (!node?.$ref) return [node, null]
    const path = node.$ref.slice(2).split('/')
    return [path.reduce((at, name) => at[name], this.document), path.at(-1)]
  }

  /* The rules of a schema for one value, in a line. */
  words(schema) {
    const [is, name] = this.resolve(schema)
    const range = [
      is.minimum !== undefined && `from ${is.minimum.toLocaleString('en')}`,
      is.maximum !== undefined && `to ${is.maximum.toLocaleString('en')}`,
      is.minLength !== undefined && `at least ${is.minLength} characters`,
      is.maxLength !== undefined && `at most ${is.maxLength} characters`,
      is.minItems !== undefined && `at least ${is.minItems}`,
      is.maxItems !== undefined && `at most ${is.maxItems}`,
      is.default !== undefined && `otherwise ${JSON.stringify(is.default)}`,
    ].filter(Boolean)
    const kind = is.enum
      ? is.enum.join(' | ')
      : is.const !== undefined
        ? JSON.stringify(is.const)
        : [is.type ?? []].flat().join(' or ')
    return [
      kind || (is.allOf ? this.words(is.allOf[0]) : is.oneOf ? 'one of these' : 'any'),
      name && ` (${name})`,
      range.length > 0 && ', ' + range.join(', '),
    ]
  }

  /* The members of a schema, nested as deep as they go; a named schema is not entered again inside of itself. */
  shape(schema, seen = []) {
    const [is, name] = this.resolve(schema)
    if (!is || (name && seen.includes(name))) return null
    const on = name ? [...seen, name] : seen
    const parts = [
      ...(is.allOf ?? []).map(part => this.shape(part, on)),
      ...(is.oneOf ?? []).map((part, i) =>
        h('li', null, h('span', {class: 'muted'}, `form ${i + 1}: `), this.words(part), this.shape(part, on)),
      ),
      ...Object.entries(is.properties ?? {}).map(([member, part]) =>
        h(
          'li',
          null,
          h('code', null, member),
          ' ',
          h('span', {class: 'muted'}, this.words(part), is.required?.includes(member) ? ', required' : ''),
          part.description && [' – ', inline(part.description.trim())],
          this.shape(part, on),
        ),
      ),
      is.items && this.shape(is.items, on),
    ].filter(Boolean)
    if (!parts.length) return null
    return parts.some(p => p.tagName === 'LI')
      ? h(
          'ul',
          {class: 'shape'},
          parts.flatMap(p => (p.tagName === 'UL' ? [...p.children] : p)),
        )
      : parts
  }

  content(content) {
    return Object.entries(content ?? {}).map(([type, {schema, examples}]) => [
      h('p', {class: 'muted'}, type, ', ', this.words(schema)),
      this.shape(schema),
      Object.entries(examples ?? {}).map(([name, example]) =>
        h(
          'details',
          null,
          h('summary', null, example.summary ?? name),
          h('pre', null, JSON.stringify(example.value, null, 1)),
        ),
      ),
    ])
  }

  parameters(of) {
    const all = of.map(p => this.resolve(p)[0])
    if (!all.length) return null
    return [
      h('h4', null, 'Parameters'),
      h(
        'ul',
        {class: 'shape'},
        all.map(p =>
          h(
            'li',
            null,
            h('code', null, p.name),
            ' ',
            h('span', {class: 'muted'}, `in ${p.in}, `, this.words(p.schema), p.required ? ', required' : ''),
            p.description && [' – ', inline(p.description.trim())],
          ),
        ),
      ),
    ]
  }

  /* The parts of a call are made when it is opened, as there are many calls. */
  call(path, method, item, operation) {
    const room = h('div', {class: 'call'})
    const details = h(
      'details',
      {class: 'operation', id: 'call-' + operation.operationId},
      h(
        'summary',
        null,
        h('b', {class: 'method'}, method.toUpperCase()),
        ' ',
        h('code', null, path),
        ' ',
        h('span', {class: 'muted'}, operation.summary),
      ),
      room,
    )
    details.addEventListener('toggle', () => {
      if (!details.open || room.firstChild) return
      const body = this.resolve(operation.requestBody)[0]
      add(
        room,
        prose(operation.description),
        h(
          'p',
          {class: 'muted'},
          operation['x-roles']?.length ? `With keys: ${operation['x-roles'].join(', ')}.` : 'Needs no key.',
        ),
        this.parameters([...(item.parameters ?? []), ...(operation.parameters ?? [])]),
        body && [h('h4', null, 'Body'), this.content(body.content)],
        h('h4', null, 'Answers'),
        Object.entries(operation.responses).map(([status, answer]) => {
          const [is] = this.resolve(answer)
          return h(
            'details',
            null,
            h('summary', null, h('b', null, status), ' ', inline((is.description ?? '').trim().split('\n')[0])),
            prose(is.description),
            this.content(is.content),
          )
        }),
      )
    })
    return details
  }

  page() {
    const {info, tags, paths} = this.document
    const calls = Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item)
        .filter(([method]) => method !== 'parameters')
        .map(([method, operation]) => ({path, method, item, operation})),
    )
    return [
      h('details', null, h('summary', null, 'What holds for every call'), prose(info.description)),
      tags.map(tag =>
        h(
          'section',
          null,
          h('h2', null, tag.name),
          prose(tag.description),
          calls
            .filter(c => c.operation.tags.includes(tag.name))
            .map(c => this.call(c.path, c.method, c.item, c.operation)),
        ),
      ),
    ]
  }
}

export async function show(page) {
  page.title('Contract')
  put(page.room, h('p', {class: 'muted'}, 'Reading the contract …'))
  const result = await page.get('/openapi.yaml', {text: true})
  if (!result.ok) return put(page.room, unread(result, page.again))
  const contract = new Contract(read(result.data))
  page.title(contract.document.info.title, ', the contract, version ', code(contract.document.info.version))
  page.room.replaceChildren()
  add(page.room, contract.page())
}
