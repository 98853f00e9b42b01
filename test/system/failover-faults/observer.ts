import { Agent, request } from 'node:https'
import { networkInterfaces } from 'node:os'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../storage/archive/reference-model.ts'
import {
  type Edit,
  FLOATING,
  type Health,
  now_us,
  type ObserverCommand,
  type ObserverLine,
  type ObserverSettings,
  type Outcome,
} from './lines.ts'

/** Runs in the network of a node, beside its programs: watches its addresses, and edits records that it must keep. */

const LOOK_EVERY_MS = 25
const PAUSE_MS_MAX = 1_200
const TIMEOUT_MS = 20_000
const QUICK_MS = 3_000
/** At most this many of its records exist at a time. */
const RECORDS_MAX = 30
const APPLY_ONE_IN = 25

interface Answer {
  /** 0: no answer, or an incomplete one. */
  readonly status: number
  readonly json: { readonly data?: unknown; readonly message?: string; readonly code?: string }
}

// Sound: the test writes it.
const { name, seed, email, password } = JSON.parse(process.argv[2] ?? '') as ObserverSettings
const say = (line: ObserverLine) => process.stdout.write(`${JSON.stringify(line)}\n`)
const random = seededRandom(seed)
const agent = new Agent({ keepAlive: true, maxSockets: 4, rejectUnauthorized: false })
let token = ''

function call(method: string, path: string, body?: object, patience_ms = TIMEOUT_MS): Promise<Answer> {
  return new Promise((resolve) => {
    const nobody = { status: 0, json: {} }
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` }
    const where = { host: '127.0.0.1', port: 9443, path: `/api/v1${path}`, method, headers, agent }
    const sent = request({ ...where, timeout: patience_ms }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
      answer.on('error', () => resolve(nobody))
      answer.on('end', () => {
        try {
          resolve({ status: answer.statusCode ?? 0, json: JSON.parse(text) })
        } catch {
          resolve(nobody)
        }
      })
    })
    sent.on('timeout', () => sent.destroy())
    sent.on('error', () => resolve(nobody))
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

async function logIn(): Promise<void> {
  const { status, json } = await call('POST', '/token', { email, password }, QUICK_MS)
  if (status === 200) ({ token } = json.data as { readonly token: string })
}

/** A request without a valid session was not carried out, so it is repeated. */
async function asked(method: string, path: string, body?: object, patience_ms?: number): Promise<Answer> {
  const first = await call(method, path, body, patience_ms)
  if (first.status !== 401) return first
  await logIn()
  return await call(method, path, body, patience_ms)
}

function outcomeOf({ status, json }: Answer): Outcome {
  if (status >= 200 && status < 300) return 'answered'
  if (status === 0 || status === 500 || status === 504) return 'unknown'
  const { message = '' } = json
  if (message.includes('was written and is in effect')) return 'answered'
  return message.includes('is unknown') || message.includes('cannot be shown') ? 'unknown' : 'refused'
}

/** Its own records by name, which no other client edits. */
const own = new Map<string, string>()
let edits = 0

async function edit(): Promise<void> {
  const [chosen, id] = [...own][Math.floor(random() * own.size)] ?? []
  const kind = id === undefined || own.size < 3 ? 0 : own.size >= RECORDS_MAX ? 0.95 : random()
  if (chosen === undefined || kind < 0.5) return await carryOut({ name: `${name}-${++edits}`, port: port() }, undefined)
  await carryOut(kind < 0.8 ? { name: chosen, port: port() } : { name: chosen }, id)
}

const port = () => 1 + Math.floor(random() * 60_000)

async function carryOut(wanted: Edit, id: string | undefined): Promise<void> {
  say({ did: 'begin', edit: wanted })
  const from_ms = performance.now()
  const { name: called, port: at } = wanted
  const body = at === undefined ? undefined : { name: called, ip: '192.0.2.1', port: at }
  const method = id === undefined ? 'POST' : at === undefined ? 'DELETE' : 'PUT'
  const answer = await asked(method, `/ipvsDirector/rips${id === undefined ? '' : `/${id}`}`, body)
  const outcome = outcomeOf(answer)
  // The record's state is unknown from then on, so it is not edited again.
  if (outcome === 'unknown' || (outcome === 'answered' && at === undefined)) own.delete(called)
  else if (outcome === 'answered' && id === undefined) own.set(called, (answer.json.data as { id: string }).id)
  const why = `${answer.status} ${answer.json.code ?? ''} ${outcome === 'answered' ? '' : (answer.json.message ?? '')}`
  say({ did: 'end', edit: wanted, outcome, why, ms: Math.round(performance.now() - from_ms) })
}

async function apply(): Promise<void> {
  const answer = await asked('PUT', '/services/apply', {}, 60_000)
  say({ did: 'apply', outcome: outcomeOf(answer), why: `${answer.status} ${answer.json.message ?? ''}` })
}

let isResting = false
async function editAll(): Promise<void> {
  await logIn()
  while (!isResting) {
    await (random() < 1 / APPLY_ONE_IN ? apply() : edit())
    await sleep(random() * PAUSE_MS_MAX)
  }
  say({ did: 'rest' })
}

async function health(): Promise<Health | null> {
  const { status, json } = await asked('GET', '/cluster', undefined, QUICK_MS)
  if (status !== 200) return null
  // Sound: the answer of GET /cluster in a cluster.
  const { quorum, halted, nodes } = json.data as {
    quorum: boolean
    halted: string | null
    nodes: readonly { name: string; state: string; isVoter: boolean; isReady: boolean; maintenance: object | null }[]
  }
  return {
    quorum,
    halted,
    nodes: nodes.map((node) => ({
      name: node.name,
      isWell: node.state === 'online' && node.isVoter && node.maintenance === null,
      isReady: node.isReady,
    })),
  }
}

async function show(): Promise<void> {
  const rips = await asked('GET', '/ipvsDirector/rips')
  const pending = await asked('GET', '/services/pending')
  if (rips.status !== 200 || pending.status !== 200) return void say({ did: 'show', records: null, pending: 0 })
  const records = (rips.json.data as readonly { name: string; port: number }[]).map((one) => ({
    name: one.name,
    port: one.port,
  }))
  say({ did: 'show', records, pending: (pending.json.data as { readonly count: number }).count })
}

let told = ''
setInterval(() => {
  const here = new Set(Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address)))
  const held = FLOATING.filter((ip) => here.has(ip))
  if (held.join() === told) return
  told = held.join()
  say({ did: 'hold', held, at_us: now_us() })
}, LOOK_EVERY_MS)

void editAll()
const commands: Record<ObserverCommand, () => Promise<unknown>> = {
  health: async () => say({ did: 'health', health: await health() }),
  rest: async () => (isResting = true),
  show,
  apply,
}
createInterface({ input: process.stdin })
  .on('line', (line) => void commands[line as ObserverCommand]())
  .on('close', () => process.exit(0))
