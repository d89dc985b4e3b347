#!/usr/bin/env node
// Signatures of webhooks by a foreign implementation, npm's standardwebhooks:
//
//   npm install standardwebhooks, in any folder, then there:
//   node .../tests/contract/signatures.mjs make > signatures.tsv    signs what is below
//   node .../tests/contract/signatures.mjs check signatures.tsv     verifies each line
//
// A line: secrets divided by commas, id, time, value of webhook-signature, body; divided by tabs. signatures.tsv beside
// this script was made and checked with standardwebhooks 1.1.1. tests/jobs/webhooks/test_signature.c makes each value of it anew, so
// no npm is needed to prove that ours are the same.
import assert from 'node:assert'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const { Webhook } = createRequire(process.cwd() + '/')('standardwebhooks')

function secret(seed, length) {
  const bytes = createHash('sha512').update(seed).digest().subarray(0, length)
  return 'whsec_' + bytes.toString('base64')
}

const bodies = [
  '{}',
  '{"id":"7-63f1c2a9b1e00-0","type":"reservation.held","at":"2026-11-22T08:00:00.000Z","data":{"order_id":"R1"}}',
  '{"id":"1-1-1","data":{"reference":"Grüße, 注文, заказ, 🧾 \\u0000 \\"quoted\\""}}',
  '{"lines":[' + Array(100).fill('{"sku":"SHIRT RED/L","qty":1}').join(',') + ']}',
]
const rows = []
for (const length of [24, 25, 31, 32, 33, 48, 63, 64])
  for (const [i, body] of bodies.entries())
    rows.push({ secrets: [secret(`one ${length}`, length)], id: `${i}-63f1c2a9b1e00-${length}`, time: 1795334400 + i,
      body })
rows.push({ secrets: [secret('new', 32), secret('old', 32)], id: '12-63f1c2a9b1e01-0', time: 1795334400,
  body: bodies[1] })
rows.push({ secrets: [secret('new', 64), secret('old', 24)], id: '12-63f1c2a9b1e01-1', time: 1, body: bodies[2] })

function make() {
  for (const { secrets, id, time, body } of rows) {
    const signed = secrets.map(s => new Webhook(s).sign(id, new Date(time * 1000), body)).join(' ')
    console.log([secrets.join(','), id, time, signed, body].join('\t'))
  }
}

function check(file) {
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n')
  for (const line of lines) {
    const [secrets, id, time, signed, body] = line.split('\t')
    const headers = { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signed }
    Date.now = () => Number(time) * 1000
    for (const s of secrets.split(',')) {
      new Webhook(s).verify(body, headers)
      assert.throws(() => new Webhook(s).verify(body + ' ', headers))
      assert.throws(() => new Webhook(s).verify(body, { ...headers, 'webhook-id': id + '0' }))
    }
    assert.throws(() => new Webhook(secret('another', 32)).verify(body, headers))
  }
  console.log(`${lines.length} lines are good`)
}

process.argv[2] === 'make' ? make() : check(process.argv[3])
