/** Live figures of 100 objects: Fulcrum's answer, compared with the page of a real HAProxy with as many objects. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../test/fixtures/traffic.ts'
import { median, spread, table, whole } from '../measure.ts'
import { GROUP_SERVERS, OBJECTS } from './data-set.ts'
import type { Fulcrum } from './fulcrum.ts'
import { getText, type HttpServer, measureHttp } from './http-queries.ts'
import { ServerProcess } from './programs.ts'
import { scaled } from '../scale.ts'

const ROUNDS = scaled(3, 1)
const ROUND_S = scaled(2, 0.2)
const CLIENTS = 16

interface LivePage {
  readonly name: string
  readonly server: HttpServer
  readonly path: string
  /** Counts the objects in an answer. */
  readonly objects: (text: string) => number
}

/** Returns a configuration with one frontend, which also serves the page, and two backends. */
function configText(port: number): string {
  const backend = (name: string, servers: number) => [
    `backend ${name}`,
    ...Array.from({ length: servers }, (_, n) => `  server ${name}${n} 127.0.0.1:8000`),
  ]
  return [
    'defaults',
    '  mode http',
    '  timeout connect 5s',
    '  timeout client 30s',
    '  timeout server 30s',
    'frontend fe',
    `  bind 127.0.0.1:${port}`,
    '  stats enable',
    '  stats uri /stats',
    '  default_backend a',
    ...backend('a', GROUP_SERVERS),
    ...backend('b', OBJECTS - GROUP_SERVERS - 3),
    '',
  ].join('\n')
}

/** Counts a key in a JSON text. */
const countOf = (text: string, key: string) => text.split(`"${key}":`).length - 1

function pagesOf(fulcrum: Fulcrum, port: number): readonly LivePage[] {
  const haproxy = { origin: `http://127.0.0.1:${port}`, headers: {} }
  return [
    {
      name: 'Fulcrum, all objects, JSON',
      server: fulcrum.server,
      path: fulcrum.livePath,
      objects: (text) => countOf(text, 'currentSessions'),
    },
    {
      name: 'HAProxy /stats;csv',
      server: haproxy,
      path: '/stats;csv',
      objects: (text) => text.trim().split('\n').length - 1,
    },
    {
      name: 'HAProxy /stats;json',
      server: haproxy,
      path: '/stats;json',
      objects: (text) => (JSON.parse(text) as readonly unknown[]).length,
    },
  ]
}

/** Returns the median queries per second of Fulcrum, HAProxy's CSV and HAProxy's JSON. */
export async function compareLive(fulcrum: Fulcrum, haproxy: string): Promise<readonly number[]> {
  const folder = mkdtempSync(join(tmpdir(), 'fulcrum-bench-'))
  const port = await freePort()
  const config = join(folder, 'haproxy.cfg')
  writeFileSync(config, configText(port))
  const process = new ServerProcess(haproxy, ['-db', '-f', config])
  try {
    const pages = pagesOf(fulcrum, port)
    const sizes: number[] = []
    for (const { name, server, path, objects } of pages) {
      const text = await process.until(() => getText(server, path))
      if (objects(text) !== OBJECTS) throw new Error(`${name}: ${objects(text)} objects instead of ${OBJECTS}`)
      sizes.push(text.length)
    }
    const rates = pages.map((): number[] => [])
    const times = pages.map((): number[] => [])
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const [n, { server, path }] of pages.entries()) {
        const rate = await measureHttp(server, [path], ROUND_S, CLIENTS)
        rates[n]?.push(rate.perSecond)
        times[n]?.push(rate.p99_ms)
      }
    }
    table(
      `Live figures of ${OBJECTS} objects: answers per second`,
      ['answer', 'bytes', 'per second (range)', `p99 ms, ${CLIENTS} clients`],
      pages.map(({ name }, n) => [name, `${sizes[n]}`, spread(rates[n] ?? [], 0), median(times[n] ?? []).toFixed(2)]),
    )
    console.log(
      `\nHAProxy runs with its default threads. Fulcrum’s answer for all objects has ${whole(sizes[0] ?? 0)} bytes.`,
    )
    return rates.map(median)
  } finally {
    await process.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
