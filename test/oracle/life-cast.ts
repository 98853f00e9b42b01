import { setTimeout as sleep } from 'node:timers/promises'
import type { Received } from '../fixtures/appliance.ts'
import { until } from '../fixtures/until.ts'
import type { Read, Write } from './life-history.ts'
import type { World } from './life-world.ts'

export interface Play {
  readonly world: World
  readonly random: () => number
  /** Factor of all pauses: in a long life too, each change must fit into the audit log. */
  readonly pace: number
  /** Pause between two applies of one user, whose revisions per day are limited. */
  readonly applyPause_ms: number
  readonly writes: Write[]
  readonly reads: Read[]
  /** Sentences about observations that no client should ever make. */
  readonly problems: string[]
  /** Request ids of answered changes. */
  readonly answered: string[]
  /** The current fault, if any. */
  fault: string
  isOver: boolean
}

/** The name of a server is its register; its weight follows from it. */
export const weightOf = (name: string): number => 1 + (Number(name.split('-')[1]) % 100)

/** undefined: the connection broke. */
async function call(play: Play, method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
  const isOfFault = () => play.fault !== '' || wasFaulty(play)
  const beganInFault = isOfFault()
  let answer: Received
  try {
    answer = await play.world.daemon.call(method, path, { headers, ...(body === undefined ? {} : { body }) })
  } catch {
    // The daemon was killed; a dead one is not asked a thousand times a second.
    await sleep(100)
    return undefined
  }
  const { status } = answer
  const isChange = method !== 'GET'
  if (isChange && status < 300) play.answered.push(answer.headers['x-request-id'] ?? '')
  // Refusals are right on a full disk, and for an apply that meets a dead or hung HAProxy.
  if (status >= 500 && !beganInFault && !isOfFault()) {
    play.problems.push(`${method} ${path}: ${status} ${answer.text.slice(0, 300)}`)
  }
  return answer
}

/** Set by the faults: later answers may still be affected for a short time. */
const faultyUntil = new WeakMap<Play, number>()
const wasFaulty = (play: Play): boolean => performance.now() < (faultyUntil.get(play) ?? 0)
export const endFault = (play: Play, grace_ms: number): void => {
  play.fault = ''
  faultyUntil.set(play, performance.now() + grace_ms)
}

interface Seen {
  readonly name: string
  readonly tag: string
  readonly read: number
}

async function look(play: Play, record: string): Promise<Seen | undefined> {
  const begin = performance.now()
  const answer = await call(play, 'GET', `/ipvsDirector/rips/${record}`)
  if (answer?.status !== 200) return undefined
  const { name, weight } = answer.json.data
  const end = performance.now()
  play.reads.push({ record, value: name, begin, end })
  if (!name.endsWith('-0') && weight !== weightOf(name))
    play.problems.push(`${name} has weight ${weight}: half an edit`)
  return { name, tag: answer.headers['etag'] ?? '', read: end }
}

let edits = 0

/**
 * Gives a server another name and weight; every second time only if no other client has changed it since it was read.
 */
async function edit(play: Play, record: string): Promise<void> {
  const seen = play.random() < 0.5 ? await look(play, record) : undefined
  if (seen !== undefined) await sleep(play.random() * 10)
  const value = `e-${++edits}`
  const { originPort: port } = play.world
  const begin = performance.now()
  const headers: Record<string, string> = seen === undefined ? {} : { 'If-Match': seen.tag }
  const answer = await call(
    play,
    'PUT',
    `/ipvsDirector/rips/${record}`,
    { name: value, port, weight: weightOf(value) },
    headers,
  )
  const outcome = answer === undefined ? 'unknown' : answer.status === 200 ? 'done' : 'refused'
  const base = seen === undefined ? undefined : { tag: seen.tag, read: seen.read }
  play.writes.push({ record, value, begin, end: performance.now(), outcome, base })
  if (answer !== undefined && ![200, 412, 500].includes(answer.status)) {
    play.problems.push(`an edit was answered ${answer.status} ${answer.text.slice(0, 200)}`)
  }
}

export async function editor(play: Play): Promise<void> {
  const { rips } = play.world
  while (!play.isOver) {
    const record = rips[Math.floor(play.random() * rips.length)] ?? ''
    if (play.random() < 0.3) await look(play, record)
    else await edit(play, record)
    await sleep(play.random() * 20 * play.pace)
  }
}

export async function applier(play: Play): Promise<void> {
  while (!play.isOver) {
    const answer = await call(play, 'PUT', '/services/apply')
    const { status = 0, text = '' } = answer ?? {}
    if (![0, 200, 409, 500, 502, 503].includes(status)) play.problems.push(`an apply was answered ${status} ${text}`)
    await sleep(play.random() * play.applyPause_ms)
  }
}

/** Edits a record of its own: it knows at every moment which name must be there, whoever applies meanwhile. */
export async function discarder(play: Play): Promise<void> {
  const { own } = play.world
  const path = `/ipvsDirector/rips/${own}`
  let possible = new Set<string>()
  for (let first = await call(play, 'GET', path); !play.isOver; first = await call(play, 'GET', path)) {
    if (first?.status !== 200) continue
    possible.add(first.json.data.name)
    break
  }
  /** Values that were pending since one was last seen running: an apply may have picked up any of them. */
  let taken: string[] = [...possible]
  while (!play.isOver) {
    const name = `d-${++edits}`
    const put = await call(play, 'PUT', path, { name, port: 9 })
    let told = `PUT ${put?.status}`
    if (put === undefined) possible.add(name)
    else if (put.status === 200) {
      const pending = await call(play, 'GET', '/services/pending')
      const mine = pending?.json?.data?.changes?.find((change: { resourceId: string }) => change.resourceId === own)
      if (mine !== undefined) taken = [mine.before.name, ...taken.slice(taken.indexOf(mine.before.name) + 1)]
      const gone = mine === undefined ? undefined : await call(play, 'DELETE', `/services/pending/${mine.id}`)
      told += `, DELETE ${gone?.status}`
      // The running value is back: as it was at the request, or as a concurrent apply has changed it.
      if (gone?.status === 200) possible = new Set(taken)
      else if (mine !== undefined && gone === undefined) possible = new Set([name, ...taken])
      else possible = new Set([name])
    }
    taken.push(name)
    const now = await call(play, 'GET', path)
    if (now?.status === 200) {
      const found = now.json.data.name
      if (!possible.has(found)) play.problems.push(`${found} is there, of ${[...possible].join(' or ')}: ${told}`)
      possible = new Set([found])
    }
    await sleep(play.random() * 60 * play.pace)
  }
}

/** Drains a server with a job that halts it, and brings it back; others edit it meanwhile. */
export async function drainer(play: Play): Promise<void> {
  const { rips } = play.world
  while (!play.isOver) {
    const rip = rips[1 + Math.floor(play.random() * (rips.length - 1))] ?? ''
    const path = `/ipvsDirector/rips/${rip}`
    const asked = await call(play, 'PUT', `${path}/drain?wait=1s&then=halt`)
    const job = asked?.json?.job
    if (job !== undefined) {
      const ended = await until(
        'the end of a drain',
        () => call(play, 'GET', `/jobs/${job}`),
        (answer) => {
          const state = answer?.json?.data?.state
          return play.isOver || (state !== undefined && state !== 'running')
        },
        120_000,
      ).catch(() => undefined)
      const state = ended?.json?.data?.state
      const now = await call(play, 'GET', path)
      if (state === 'succeeded' && now?.status === 200 && now.json.data.state !== 'halted') {
        play.problems.push(`${rip} is ${now.json.data.state} after a drain that halted it`)
      }
    }
    await call(play, 'PUT', `${path}/online`)
    await sleep(200 + play.random() * 400)
  }
}
