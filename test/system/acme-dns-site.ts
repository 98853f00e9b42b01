import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Test } from 'tap'
import { daemonFixture } from '../fixtures/daemon.ts'
import { freePort, httpServer } from '../fixtures/traffic.ts'
import { accountAt } from './acme-site.ts'
import { pebbleFixture, type PebbleOptions } from './pebble.ts'
import { output } from './tls-frontend.ts'

export const SECRET = 'geheim-4711'

const SCRIPT = `#!/bin/bash
# @param {"name":"port","type":"port","required":true}
# @param {"name":"token","type":"secret","required":true}
for word; do
  case $word in --port=*) port=\${word#*=} ;; esac
done
read -r line
curl -s --fail-with-body -d "$line" "http://127.0.0.1:$port/$1/$2/$3" || { echo "refused with $line"; exit 3; }
`

interface Call {
  readonly action: string
  readonly name: string
  readonly value: string
}

/** A DNS provider that learns of records and passes them to the name server of the CA. */
async function provider(test: Test, names: number) {
  const calls: Call[] = []
  const records = new Map<string, string>()
  const mode: { is: 'right' | 'refuses' | 'hangs' | 'deaf' } = { is: 'right' }
  const answered = async (request: IncomingMessage, answer: ServerResponse) => {
    let body = ''
    for await (const part of request) body += String(part)
    const [, action = '', name = '', value = ''] = (request.url ?? '').split('/')
    calls.push({ action, name, value })
    if (mode.is === 'hangs') return
    if (mode.is === 'refuses' || body !== `token=${SECRET}`) {
      answer.writeHead(403).end('no ')
      return
    }
    const host = `${name}.`
    const [path, told] = action === 'present' ? ['set-txt', { host, value }] : ['clear-txt', { host }]
    if (mode.is === 'right') await output('curl', '-s', '-d', JSON.stringify(told), `http://127.0.0.1:${names}/${path}`)
    if (action === 'present') records.set(value, name)
    else records.delete(value)
    answer.end()
  }
  const port = await httpServer(test, (request, answer) => void answered(request, answer))
  return { port, calls, records, mode }
}

/** The parts of an order by DNS-01: a CA, a daemon with a script, and the provider that the script calls. */
export async function dnsSite(test: Test, env: PebbleOptions['env'] = {}) {
  const ca = await pebbleFixture(test, { httpPort: await freePort(), env })
  const told = await provider(test, ca.names)
  const daemon = await daemonFixture(test)
  const check = { name: 'provider', description: '', script: SCRIPT, services: ['dns-01'] }
  const { id: scriptId } = await daemon.data('POST', '/healthchecks', check)
  const accountId = await accountAt(daemon, ca)
  const dns = {
    scriptId,
    parameters: { port: String(told.port) },
    nameServers: [`127.0.0.1:${ca.dns}`],
    timeout: 60,
    visibleWithin: 60,
  }
  const names = ['*.site.test', 'site.test']
  const body = { name: 'site', accountId, names, challenge: 'dns-01', dns, secrets: { token: SECRET } }
  const made = async (more: object = {}) => {
    const { id, certificateId } = await daemon.data('POST', '/certificates/acme/orders', { ...body, ...more })
    await daemon.data('PUT', '/services/apply')
    const order = () => daemon.data('GET', `/certificates/acme/orders/${id}`)
    return { id, certificateId, order }
  }
  const refused = async (more: object) => {
    const { json } = await daemon.call('POST', '/certificates/acme/orders', { body: { ...body, ...more } })
    return json.errors?.map(({ field, message }: { field: string; message: string }) => `${field} ${message}`)
  }
  return { ...told, ca, daemon, dns, made, refused, scriptId }
}
