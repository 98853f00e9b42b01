import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import t, { type Test } from 'tap'
import type { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { fetchOnce } from '../fixtures/traffic.ts'
import { serving } from './serving-daemon.ts'

type Values = Record<string, unknown>
type Layer = Record<string, Values[]>

/** Follows a stream, and assembles its events. */
class Follower {
  readonly state: Record<string, Layer> = {}
  readonly events: string[] = []
  lastId = ''
  status = 0
  #response: IncomingMessage | undefined
  #rest = ''

  constructor(test: Test, daemon: Daemon, token: string, query = '', lastId = '') {
    const sent = request({
      port: daemon.port,
      path: `/api/v1/${daemon.node}/stats/stream${query}`,
      agent: new Agent({ rejectUnauthorized: false }),
      headers: { authorization: `Bearer ${token}`, ...(lastId === '' ? {} : { 'last-event-id': lastId }) },
    })
    sent.on('response', (response) => {
      this.#response = response
      this.status = response.statusCode ?? 0
      response.setEncoding('utf8').on('data', (text: string) => this.#take(text))
      response.on('error', () => undefined)
    })
    sent.on('error', () => undefined)
    sent.end()
    test.teardown(() => sent.destroy())
  }

  pause(): void {
    this.#response?.pause()
  }
  resume(): void {
    this.#response?.resume()
  }

  #take(text: string): void {
    const parts = `${this.#rest}${text}`.split('\n\n')
    this.#rest = parts.pop() ?? ''
    for (const part of parts) {
      const [, id = '', event = '', data = ''] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(part) ?? []
      if (event === '') continue
      this.lastId = id
      this.events.push(event)
      this.#merge(event, JSON.parse(data))
    }
  }

  #merge(event: string, data: Record<string, Record<string, Values[]>>): void {
    for (const [layer, { problem: _problem, ...lists }] of Object.entries(data)) {
      if (event === 'figures') this.state[layer] = lists
      else
        for (const [list, objects] of Object.entries(lists))
          for (const object of objects) {
            const same = (one: Values) => one['id'] === object['id'] && one['backendId'] === object['backendId']
            Object.assign(this.state[layer]?.[list]?.find(same) ?? {}, object)
          }
    }
  }
}

/** Counters of elapsed time are not sent each second. */
const still = (layer: Layer | undefined) =>
  Object.fromEntries(
    Object.entries(layer ?? {}).map(([list, objects]) => [list, objects.map((one) => ({ ...one, lastChange: 0 }))]),
  )

t.test('the assembled events of a stream match live answers', { timeout: 1_800_000 }, async (test) => {
  const { daemon, port, served } = await serving(test)
  await served()
  const token = await daemon.login()
  const path = `/${daemon.node}/layer7proxy/stats`
  const follower = new Follower(test, daemon, token)
  const isSame = async (one: Follower) => {
    const live = still(await daemon.data('GET', path))
    return JSON.stringify(still(one.state['layer7'])) === JSON.stringify(live)
  }
  await until('the whole state', () => isSame(follower), Boolean)
  test.equal(follower.events[0], 'figures')
  for (let n = 0; n < 9; n++) await fetchOnce(port)
  const requests = () => follower.state['layer7']?.['frontends']?.[0]?.['totalRequests']
  await until(
    'nine requests more',
    async () => requests(),
    (count) => Number(count) >= 9,
  )
  await until('the same as live', () => isSame(follower), Boolean)
  test.same(new Set(follower.events.slice(1)), new Set(['changed']), 'the whole state was sent once')

  const { id } = (await daemon.data('GET', '/layer7proxy/frontends'))[0]
  const one = new Follower(test, daemon, token, `?ids=${id}`)
  await until(
    'one object',
    async () => one.events,
    ({ length }) => length > 0,
  )
  test.same(Object.keys(one.state['layer7'] ?? {}), ['frontends'])

  const back = new Follower(test, daemon, token, '', follower.lastId)
  await fetchOnce(port)
  await until(
    'what has changed since',
    async () => back.events,
    ({ length }) => length > 0,
  )
  test.equal(back.events[0], 'changed')

  follower.pause()
  await daemon.data('PUT', `/layer7proxy/frontends/${id}`, { name: 'renamed' })
  await daemon.data('PUT', '/services/apply')
  for (let n = 0; n < 3; n++) await fetchOnce(port)
  follower.resume()
  await until('the same after a rename', () => isSame(follower), Boolean)
  test.equal(follower.state['layer7']?.['frontends']?.[0]?.['name'], 'renamed')
  test.ok(follower.events.includes('figures', 1))

  const many = Array.from({ length: 100 }, () => new Follower(test, daemon, token))
  await until(
    'a hundred of one user',
    async () => many,
    (all) => all.every(({ events }) => events.length > 0),
  )
  test.ok(many.every(({ status }) => status === 200))
})
