import { readFileSync } from 'node:fs'
import t from 'tap'
import { Exposition } from '../../../src/metrics/exposition.ts'
import { Layer7Samples } from '../../../src/metrics/layer7-samples.ts'
import { LiveAnswers } from '../../../src/stats/live.ts'
import type { ObjectNames } from '../../../src/stats/names.ts'
import { tickOf } from '../../fixtures/live-tick.ts'
import { namesOf } from '../stats/names-fixture.ts'

const P = '0198c0de-0000-7000-8000-00000000000'
const FIXTURE = new Uint8Array(readFileSync(new URL('../../fixtures/haproxy-2.6/show-stat.csv', import.meta.url)))

function feed(live: LiveAnswers, csv: Uint8Array | undefined, sequence = 1, layout = 1, free?: () => void): void {
  if (csv !== undefined) return live.update({ ...tickOf(csv, sequence, layout), free })
  const nothing = { csv, rows: undefined, statuses: undefined }
  return live.update({ sequence, ...nothing, layout: 0, since_ms: 1, reason: 'gone' })
}

function documentOf(samples: Layer7Samples, out: Exposition): string {
  for (const _ of samples.write(out));
  const document = out.end()
  samples.keep(document)
  return document.toString()
}

const fresh = (live: LiveAnswers, names: ObjectNames) =>
  documentOf(new Layer7Samples({ live, names }), new Exposition('prometheus'))

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
  const lines = fresh(live, names).split('\n')
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
    'nobody checks these servers',
  )
  test.ok(lines.some((line) => line.startsWith('fulcrum_layer7_server_state{') && line.endsWith(' 1')))
})

t.test('an answer stays as it is while a document is made of it', async (test) => {
  const names = namesOf([{ id: `${P}f`, name: 'Shop' }], [])
  const live = new LiveAnswers(names, 'n')
  const csv = Uint8Array.from(FIXTURE)
  feed(live, csv, 1, 1, () => void csv.buffer.transfer(0))
  const whole = fresh(live, names)
  const out = new Exposition('prometheus')
  const portions = new Layer7Samples({ live, names }).write(out)
  portions.next()
  feed(live, FIXTURE, 2)
  test.equal(csv.length, FIXTURE.length)
  for (const _ of portions);
  test.equal(out.end().toString(), whole)
  test.equal(csv.length, 0, 'and no longer')
})

t.test('no samples while HAProxy does not answer, and all of them when it does again', async (test) => {
  const names = namesOf([{ id: `${P}f`, name: 'Shop' }], [])
  const live = new LiveAnswers(names, 'n')
  const samples = new Layer7Samples({ live, names })
  const out = new Exposition('prometheus')
  test.equal(documentOf(samples, out), '')
  feed(live, FIXTURE)
  const all = documentOf(samples, out)
  test.match(all, /fulcrum_layer7_frontend_up/)
  feed(live, undefined, 2)
  test.equal(documentOf(samples, out), '')
  feed(live, FIXTURE, 3)
  test.equal(documentOf(samples, out), all)
})

/** Numbers of every length, words, and nothing, as a random life brings them. */
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

t.test('a document that is made of the one before is the one that would be made anew', async (test) => {
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
  const samples = new Layer7Samples({ live, names })
  const out = new Exposition('prometheus')
  for (let round = 0; round < 20; round++) {
    const rows = round > 12 ? 200 : 300
    feed(live, round === 8 ? undefined : randomCsv(rows, random), round, rows)
    if (round === 15) {
      holder.names = namesOf([], [{ id: 'b', name: 'Other', reals: reals(250) }])
      holder.version = 2
    }
    test.equal(documentOf(samples, out), fresh(live, names), `round ${round}`)
  }
})
