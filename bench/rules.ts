/**
 * Rules that choose one of 1,000 backends by 10,000 host names: requests through the HAProxy configured by Fulcrum,
 * compared with a plain haproxy.cfg with the same map, and with one that has a condition for each backend; and the cost
 * of a change.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { until } from '../test/fixtures/until.ts'
import { backend, frontend, realServer } from '../test/fixtures/config.ts'
import { signed } from '../test/fixtures/backup.ts'
import { freePort } from '../test/fixtures/traffic.ts'
import { type BenchDaemon, inFolder, startDaemon } from './daemon.ts'
import { throughput } from './load.ts'
import { median, spread, table, timed, whole } from './measure.ts'
import { scaled } from './scale.ts'

const BACKENDS = scaled(1_000, 20)
const HOSTS_EACH = 10
const ROUNDS = scaled(3, 1)
const SECONDS = scaled(5, 0.2)
const CHANGES = scaled(20, 2)

const idOf = (at: number) => `shop-${at}`
const hostsOf = (at: number) => Array.from({ length: HOSTS_EACH }, (_, host) => `www${host}.shop-${at}.test`)
const all = Array.from({ length: BACKENDS }, (_, at) => at)
const ruleOf = (at: number, hosts = hostsOf(at)) => ({
  name: `Shop ${at}`,
  when: { all: [{ type: 'host' as const, values: hosts }] },
  do: { type: 'backend' as const, backendId: idOf(at) },
})

export const run = (): Promise<void> => inFolder(measure)

async function measure(folder: string, teardown: (end: () => unknown) => unknown): Promise<void> {
  const [origin, mapped, listed, ours] = [await freePort(), await freePort(), await freePort(), await freePort()]
  writeFileSync(
    join(folder, 'hosts.map'),
    all.flatMap((at) => hostsOf(at).map((host) => `${host} ${idOf(at)}\n`)).join(''),
  )
  for (const [name, text] of Object.entries({
    // Each has a process of its own: connections between them would otherwise take up the places of clients.
    origin: `frontend origin\nbind 127.0.0.1:${origin}\nhttp-request return status 200 content-type text/plain string ok\n`,
    plain: plain(folder, { origin, mapped, listed }),
  })) {
    const file = join(folder, `${name}.cfg`)
    writeFileSync(file, `${COMMON}\n${text}`)
    const haproxy = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
    teardown(async () => {
      const ended = once(haproxy, 'exit')
      haproxy.kill()
      await ended
    })
  }
  const bench = await startDaemon()
  teardown(() => bench.stop())
  await prepare(bench, { origin, ours })
  const script = join(folder, 'hosts.lua')
  writeFileSync(script, scriptOf())
  const rates: Readonly<Record<string, number[]>> = { map: [], list: [], fulcrum: [] }
  const ports = { map: mapped, list: listed, fulcrum: ours }
  for (const port of Object.values(ports))
    await until(
      'a site',
      () => fetch(`http://127.0.0.1:${port}/`, { headers: { Host: 'www0.shop-0.test' } }).catch(() => undefined),
      (answer) => answer?.status !== undefined,
    )
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, port] of Object.entries(ports))
      rates[name]?.push(await throughput({ url: `http://127.0.0.1:${port}/`, headers: {}, script }, SECONDS))
  const ofMap = (name: string) =>
    spread(
      (rates[name] ?? []).map((rate, at) => rate / (rates['map']?.[at] ?? 1)),
      2,
    )
  table(
    `${whole(BACKENDS * HOSTS_EACH)} hosts, ${whole(BACKENDS)} backends`,
    ['', 'requests/s', 'of the plain map'],
    [
      ['plain haproxy.cfg with the map', whole(median(rates['map'] ?? [])), ''],
      ['Fulcrum', whole(median(rates['fulcrum'] ?? [])), ofMap('fulcrum')],
      ['plain haproxy.cfg, a line for each backend', whole(median(rates['list'] ?? [])), ofMap('list')],
    ],
  )
  await measureChanges(bench)
}

const COMMON =
  'global\nfd-hard-limit 200000\ndefaults\nmode http\ntimeout connect 5s\ntimeout client 30s\ntimeout server 30s'

function plain(folder: string, ports: Readonly<Record<'origin' | 'mapped' | 'listed', number>>): string {
  const key = 'req.hdr(host),host_only,lower'
  return [
    `frontend mapped\nbind 127.0.0.1:${ports.mapped}\nuse_backend %[${key},map_str(${folder}/hosts.map)]`,
    `frontend listed\nbind 127.0.0.1:${ports.listed}`,
    ...all.map((at) => `use_backend ${idOf(at)} if { ${key} -m str ${hostsOf(at).join(' ')} }`),
    ...all.map((at) => `backend ${idOf(at)}\nserver web 127.0.0.1:${ports.origin}`),
    '',
  ].join('\n')
}

/** Requests each host in turn. */
const scriptOf = () => `local at = 0
request = function()
  at = (at + 1) % ${BACKENDS * HOSTS_EACH}
  local host = "www" .. (at % ${HOSTS_EACH}) .. ".shop-" .. math.floor(at / ${HOSTS_EACH}) .. ".test"
  return wrk.format("GET", "/", { Host = host })
end
`

async function prepare({ daemon }: BenchDaemon, { origin, ours }: Readonly<Record<'origin' | 'ours', number>>) {
  const { json } = await daemon.call('GET', '/backup')
  json.sections.realServers.data.realServers = [realServer('web', { port: origin })]
  json.sections.layer7proxy.data = {
    ...json.sections.layer7proxy.data,
    l7Backends: all.map((at) => backend(idOf(at), ['web'])),
    l7Frontends: [frontend('fe', null, { ports: String(ours), rules: all.map((at) => ruleOf(at)) })],
  }
  await daemon.data('POST', '/backup/upload', { backup: signed(json) })
  const [{ file }] = (await daemon.data('GET', '/backup/list')).uploads
  await daemon.data('POST', '/backup/restore', { file, sections: ['realServers', 'layer7proxy'] })
  await daemon.data('PUT', '/services/apply')
}

async function measureChanges({ daemon }: BenchDaemon): Promise<void> {
  const staged: number[] = []
  const applied: number[] = []
  for (let change = 0; change < CHANGES; change++) {
    const rules = all.map((at) => (at === change ? ruleOf(at, [...hostsOf(at), `new-${change}.test`]) : ruleOf(at)))
    staged.push(await timed(() => daemon.data('PUT', '/layer7proxy/frontends/fe', { rules })))
    const pending = await daemon.data('GET', '/services/pending')
    if (pending.changes[0]?.effect !== 'runtime') throw new Error(`not at runtime: ${JSON.stringify(pending.changes)}`)
    applied.push(await timed(() => daemon.data('PUT', '/services/apply')))
  }
  table(
    'One more host, without a reload',
    ['', 'ms'],
    [
      [`to send all ${whole(BACKENDS)} rules`, spread(staged)],
      ['to apply', spread(applied)],
    ],
  )
}
