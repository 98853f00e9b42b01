/**
 * Layer 4 on an appliance: the installed daemon, keepalived and the kernel, compared with `ipvsadm --restore` of the
 * same table. It replaces the configuration of its machine, so run it only on a machine set aside for it: as root, with
 * the package installed, `node bench/l4-appliance.ts --this-machine-is-mine`, with a token in FULCRUM_TOKEN unless
 * nobody has logged in yet.
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { backupText } from '../src/backup-file/writing.ts'
import { licence } from '../src/model/licence.ts'
import { VERSION } from '../src/base/version.ts'
import { farmOf, type FarmSize, ipvsadmRules } from './l4-farm.ts'
import { spread, table, timed, whole } from './measure.ts'

const ROUNDS = 5
const SIZES: readonly FarmSize[] = [
  { services: 100, reals: 20 },
  { services: 1_000, reals: 20 },
]
const PASSWORD = '/var/lib/fulcrum/first-password'

let token = ''

/** Calls the daemon; rejects unless it succeeds. */
function call(method: string, path: string, body?: object): Promise<unknown> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  const headers = {
    ...(token === '' ? {} : { authorization: `Bearer ${token}` }),
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  }
  // The programs that run between calls take longer than the daemon keeps an idle connection.
  const place = { host: '127.0.0.1', port: 9443, path: `/api/v1${path}`, rejectUnauthorized: false, agent: false }
  return new Promise((resolve, reject) => {
    const sent = request({ ...place, method, headers }, (answer) => {
      let received = ''
      answer.setEncoding('utf8').on('data', (part: string) => (received += part))
      answer.on('end', () => {
        if ((answer.statusCode ?? 500) >= 300) reject(new Error(`${method} ${path}: ${received.slice(0, 2_000)}`))
        else resolve(JSON.parse(received).data)
      })
    })
    sent.on('error', reject)
    sent.end(text)
  })
}

const apply = () => call('PUT', '/services/apply')

/** Stages a farm, or nothing, as a part of a backup: 20,000 records in one request. */
async function restored(size: FarmSize | undefined): Promise<void> {
  const farm = size === undefined ? {} : farmOf(size)
  // Nothing listens that could answer a check.
  const l4Backends = (farm.l4Backends ?? []).map((backend) => ({ ...backend, healthCheck: { type: 'none' as const } }))
  const source = {
    applianceVersion: VERSION,
    createdAt: new Date().toISOString(),
    nodes: [{ id: 'node-1', hostname: 'bench' }],
    beside: { licence: licence(Date.now()) },
    contents: { ...farm, l4Backends },
  }
  const text = backupText(source, undefined)
  await call('POST', '/backup/upload', { backup: Buffer.concat([...text]).toString() })
  // The newest comes first.
  const [{ file }] = Object(await call('GET', '/backup/list')).uploads
  await call('POST', '/backup/restore', { file, sections: ['realServers', 'ipvsDirector'] })
}

async function measured(size: FarmSize): Promise<readonly (readonly string[])[]> {
  const rules = ipvsadmRules(size)
  writeFileSync('/run/bench-rules', `${rules.join('\n')}\n`)
  const bare_ms = await timed(() => {
    const { status, stderr } = spawnSync('ipvsadm', ['--restore'], { input: readFileSync('/run/bench-rules') })
    if (status !== 0) throw new Error(String(stderr))
  })
  execFileSync('ipvsadm', ['--clear'])
  await restored(size)
  const first_ms = await timed(apply)
  const check_ms = await timed(() =>
    execFileSync('keepalived', ['--config-test', '--use-file', '/etc/keepalived/keepalived.conf'], { stdio: 'ignore' }),
  )
  const [stage_ms, drain_ms, weight_ms, reload_ms]: [number[], number[], number[], number[]] = [[], [], [], []]
  for (let round = 0; round < ROUNDS; round++) {
    stage_ms.push(await timed(() => call('PUT', `/ipvsDirector/rips/real-${round}/drain`)))
    drain_ms.push(await timed(apply))
    await call('PUT', `/ipvsDirector/rips/real-${round}`, { port: 80, state: 'online', weight: 7 + round })
    weight_ms.push(await timed(apply))
    await call('PUT', '/ipvsDirector/backends/backend-0', { scheduler: round % 2 === 0 ? 'rr' : 'wlc' })
    reload_ms.push(await timed(apply))
  }
  await restored(undefined)
  await apply()
  const name = `${whole(size.services)} services, ${size.reals} real servers each`
  return [
    [`${name}: \`ipvsadm --restore\` of the table`, bare_ms.toFixed(0)],
    [`${name}: \`keepalived -t\` of the file`, check_ms.toFixed(0)],
    [`${name}: first apply`, first_ms.toFixed(0)],
    [`${name}: the call that stages a drain`, spread(stage_ms, 0)],
    [`${name}: apply of a drain, read back from the kernel`, spread(drain_ms, 0)],
    [`${name}: apply of a weight`, spread(weight_ms, 0)],
    [`${name}: apply that reloads`, spread(reload_ms, 0)],
  ]
}

async function firstToken(): Promise<string> {
  const password = readFileSync(PASSWORD, 'utf8').trim()
  return String(Object(await call('POST', '/token', { email: 'admin@localhost', password })).token)
}

async function main(): Promise<void> {
  if (!process.argv.includes('--this-machine-is-mine')) throw new Error('only in a machine that is there for it')
  // oxlint-disable-next-line node/no-process-env -- a program of its own
  token = process.env['FULCRUM_TOKEN'] ?? (await firstToken())
  for (const size of SIZES) table('Layer 4 on an appliance', ['what', 'ms (range)'], await measured(size))
}

if (import.meta.main) await main()
