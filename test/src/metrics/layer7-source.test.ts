import { readFileSync } from 'node:fs'
import t from 'tap'
import { Exposition } from '../../../src/exposition/exposition.ts'
import { Layer7Samples } from '../../../src/exposition/layer7-samples.ts'
import { sharedMemory } from '../../../src/exposition/shared-memory.ts'
import { Layer7Source } from '../../../src/metrics/layer7-source.ts'
import { expositionPool } from '../../../src/threads/worker-pool.ts'
import { LiveAnswers } from '../../../src/stats/live.ts'
import type { ObjectNames } from '../../../src/stats/names.ts'
import { tickOf } from '../../fixtures/live-tick.ts'
import { namesOf } from '../stats/names-fixture.ts'

const P = '0198c0de-0000-7000-8000-00000000000'
const FIXTURE = new Uint8Array(readFileSync(new URL('../../fixtures/haproxy-2.6/show-stat.csv', import.meta.url)))

function feed(live: LiveAnswers, csv: Uint8Array | undefined, sequence = 1, layout = 1, free?: () => void): void {
  if (csv !== undefined) return live.update({ ...tickOf(csv, sequence, layout), free })
  const nothing = { csv, rows: undefined, kinds: undefined, statuses: undefined }
  return live.update({ sequence, ...nothing, layout: 0, since_ms: 1, reason: 'gone' })
}

/** A series of documents of live figures. */
function series(live: LiveAnswers, names: ObjectNames) {
  const source = new Layer7Source({ live, names })
  const [samples, out] = [new Layer7Samples(), new Exposition('prometheus')]
  return async () => {
    const letGo = live.hold()
    for (const _ of samples.write(out, await source.read({ isShared: false })));
    letGo()
    const document = out.end()
    samples.keep(document)
    return document.toString()
  }
}

const fresh = (live: LiveAnswers, names: ObjectNames) => series(live, names)()

t.test('figures of HAProxy 2.6 with names beside ids', async (test) => {
  const reals = [
    { ripId: `${P}1`, name: 'web 1' },
    { ripId: `${P}2`, name: 'web "2"\n' },
  ]
  const names = {
    ...namesOf([{ id: `${P}f`, name: 'Shop ü' }], [{ id: `${P}b`, name: 'Shop', reals }]),
    state: (id: string) => (id === `${P}1` ? ('drained' as const) : ('online' as const)),
  }
  const live = new LiveAnswers(names, 'n')
  feed(live, FIXTURE)
  const lines = (await fresh(live, names)).split('\n')
  const frontend = `{frontend_id="${P}f",frontend="Shop ü"`
  const server = `{backend_id="${P}b",backend="Shop",server_id="${P}2",server="web \\"2\\"\\n"`
  for (const line of [
    `fulcrum_layer7_frontend_up${frontend}} 1`,
    `fulcrum_layer7_frontend_sessions_total${frontend}} 12`,
    `fulcrum_layer7_frontend_received_bytes_total${frontend}} 624`,
    `fulcrum_layer7_frontend_responses_total${frontend},code="2xx"} 12`,
    `fulcrum_layer7_frontend_responses_total${frontend},code="other"} 0`,
    `fulcrum_layer7_server_state${server}} 2`,
    `fulcrum_layer7_server_sessions_total${server}} 6`,
    '# TYPE fulcrum_layer7_backend_queue_time_average_seconds gauge',
  ])
    test.ok(lines.includes(line), line)
  test.notOk(
    lines.some((line) => line.startsWith('fulcrum_layer7_server_up{')),
    'these servers are unchecked',
  )
  test.ok(lines.some((line) => line.startsWith('fulcrum_layer7_server_state{') && line.endsWith(' 1')))
})

t.test('an answer stays unchanged while it is read, and another thread gets a copy', async (test) => {
  const names = namesOf([{ id: `${P}f`, name: 'Shop' }], [])
  const live = new LiveAnswers(names, 'n')
  const csv = Uint8Array.from(FIXTURE)
  feed(live, csv, 1, 1, () => void csv.buffer.transfer(0))
  const whole = await fresh(live, names)
  const source = new Layer7Source({ live, names })
  const letGo = live.hold()
  const reading = source.read({ isShared: true })
  feed(live, FIXTURE, 2)
  const input = await reading
  test.equal(csv.length, FIXTURE.length)
  letGo()
  test.equal(csv.length, 0, 'and no longer')
  test.type(input?.csv.buffer, SharedArrayBuffer)
  const [samples, out] = [new Layer7Samples(), new Exposition('prometheus')]
  for (const _ of samples.write(out, input));
  test.equal(out.end().toString(), whole)
})

t.test('no samples while HAProxy does not answer, and all of them when it does again', async (test) => {
  const names = namesOf([{ id: `${P}f`, name: 'Shop' }], [])
  const live = new LiveAnswers(names, 'n')
  const next = series(live, names)
  test.equal(await next(), '')
  feed(live, FIXTURE)
  const all = await next()
  test.match(all, /fulcrum_layer7_frontend_up/)
  feed(live, undefined, 2)
  test.equal(await next(), '')
  feed(live, FIXTURE, 3)
  test.equal(await next(), all)
})

/** Numbers of every length, words, and empty values, in a random sequence. */
function randomCsv(servers: number, random: () => number): Uint8Array {
  const header = '# pxname,svname,scur,stot,bin,bout,status,type,rtime,weight,'
  const cell = () => {
    const kind = random()
    if (kind < 0.1) return ''
    if (kind < 0.15) return '-1'
    return String(Math.floor(10 ** (random() * 12)))
  }
  const words = ['UP', 'DOWN', 'DOWN 1/2', 'no check', 'MAINT', 'DRAIN', 'NOLB', '']
  const lines = Array.from({ length: servers }, (_, at) => {
    const status = words[Math.floor(random() * words.length)]
    return `b,s${at},${cell()},${cell()},${cell()},${cell()},${status},2,${cell()},${cell()},`
  })
  return new Uint8Array(Buffer.from(`${header}\n${lines.join('\n')}\n\n`))
}

t.test('an incremental document equals a full one', async (test) => {
  let seed = 42
  const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31
  const reals = (count: number) => Array.from({ length: count }, (_, at) => ({ ripId: `s${at}`, name: `n${at}` }))
  const holder = { names: namesOf([], [{ id: 'b', name: 'B', reals: reals(300) }]), version: 1 }
  const names: ObjectNames = {
    get version() {
      return holder.version
    },
    frontends: () => holder.names.frontends(),
    backends: () => holder.names.backends(),
    frontend: (id) => holder.names.frontend(id),
    backend: (id) => holder.names.backend(id),
    backendsOfRip: (id) => holder.names.backendsOfRip(id),
  }
  const live = new LiveAnswers(names, 'n')
  const next = series(live, names)
  const source = new Layer7Source({ live, names })
  const pool = expositionPool()
  test.teardown(() => pool.close())
  const memories = [sharedMemory(1_000), sharedMemory(1_000_000), sharedMemory(1_000_000)]
  const nothing = new Uint8Array(0)
  /** The thread has the same series. */
  const elsewhere = async (round: number) => {
    const layer7 = await source.read({ isShared: true })
    const memory = memories[round % memories.length] ?? nothing
    const parts = { before: nothing, layer7, after: nothing, memory }
    const { length, grown } = await pool.run('write', { format: 'prometheus', series: 'one', parts })
    return Buffer.from(grown ?? memory)
      .subarray(0, length)
      .toString()
  }
  for (let round = 0; round < 20; round++) {
    const rows = round > 12 ? 200 : 300
    feed(live, round === 8 ? undefined : randomCsv(rows, random), round, rows)
    if (round === 15) {
      holder.names = namesOf([], [{ id: 'b', name: 'Other', reals: reals(250) }])
      holder.version = 2
    }
    const anew = await fresh(live, names)
    test.equal(await next(), anew, `round ${round}`)
    test.equal(await elsewhere(round), anew, `round ${round}, by the thread`)
  }
})
