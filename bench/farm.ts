import { readFileSync } from 'node:fs'
import type { NamedBackend, NamedObject, ObjectNames } from '../src/stats/names.ts'

const HEADER =
  readFileSync(new URL('../test/fixtures/haproxy-2.6/show-stat.csv', import.meta.url), 'utf8').split('\n')[0] ?? ''
const COLUMNS = HEADER.slice(2).split(',')
const SERVERS_PER_BACKEND = 20

export function uuid(n: number): string {
  return `0198c0de-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
}

interface Row {
  readonly proxy: string
  readonly server: string
  readonly type: number
  readonly busy: number
  sessions: number
  bytesIn: number
  bytesOut: number
  missing: number
}

/** Simulated objects of HAProxy, half of them idle and a few very busy, with HAProxy's figures for each second. */
export class Farm {
  readonly rows: Row[] = []
  readonly names: ObjectNames

  constructor(objects: number) {
    const frontends: NamedObject[] = []
    const backends: NamedBackend[] = []
    for (let n = 0; this.rows.length < objects; n += SERVERS_PER_BACKEND + 2) {
      frontends.push({ id: uuid(n), name: `frontend ${n}` })
      const reals = Array.from({ length: SERVERS_PER_BACKEND }, (_, i) => ({
        ripId: uuid(n + 2 + i),
        name: `real ${n + i}`,
      }))
      backends.push({ id: uuid(n + 1), name: `backend ${n}`, reals })
      this.#row(uuid(n), 'FRONTEND', 0, n)
      for (const real of reals) this.#row(uuid(n + 1), real.ripId, 2, this.rows.length)
      this.#row(uuid(n + 1), 'BACKEND', 1, n)
    }
    this.names = {
      version: 1,
      frontends: () => frontends,
      backends: () => backends,
      frontend: (id) => frontends.find((frontend) => frontend.id === id),
      backend: (id) => backends.find((backend) => backend.id === id),
      backendsOfRip: (id) => backends.filter((backend) => backend.reals.some((real) => real.ripId === id)),
    }
  }

  #row(proxy: string, server: string, type: number, n: number): void {
    const busy = n % 50 === 0 ? 1_000 : n % 2 === 0 ? 20 : 0
    this.rows.push({ proxy, server, type, busy, sessions: 0, bytesIn: 0, bytesOut: 0, missing: 0 })
  }

  /** Returns the answer for the next second. */
  csv(): Uint8Array<ArrayBuffer> {
    const lines = [HEADER]
    for (const row of this.rows) {
      const sessions = Math.floor(Math.random() * row.busy)
      row.sessions += sessions
      row.bytesIn += sessions * 400
      row.bytesOut += sessions * 9_000
      if (sessions > 0 && Math.random() < 0.2) row.missing++
      const isServerSide = row.type !== 0
      const milliseconds = isServerSide && row.busy > 0 ? 20 + Math.floor(Math.random() * 4) : isServerSide ? 0 : ''
      const values: Readonly<Record<string, string | number>> = {
        pxname: row.proxy,
        svname: row.server,
        iid: 2,
        status: row.type === 0 ? 'OPEN' : 'UP',
        mode: 'http',
        type: row.type,
        scur: Math.floor(Math.sqrt(sessions)),
        stot: row.sessions,
        bin: row.bytesIn,
        bout: row.bytesOut,
        req_tot: row.sessions,
        hrsp_2xx: row.sessions - row.missing,
        hrsp_4xx: row.missing,
        ereq: isServerSide ? '' : 0,
        econ: isServerSide ? 0 : '',
        eresp: isServerSide ? 0 : '',
        qcur: isServerSide ? 0 : '',
        qtime: isServerSide ? 0 : '',
        ctime: isServerSide ? 0 : '',
        rtime: milliseconds,
        ttime: milliseconds,
      }
      lines.push(COLUMNS.map((name) => values[name] ?? '0').join(','))
    }
    return new Uint8Array(Buffer.from(`${lines.join('\n')}\n\n`))
  }
}
