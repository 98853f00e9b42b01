import { execFile, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { linesOf } from '../../src/haproxy-cfg/lines.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import type { Daemon } from '../fixtures/daemon.ts'
import { until } from '../fixtures/until.ts'
import { freePort, httpServer, isListening } from '../fixtures/traffic.ts'

/** A haproxy.cfg on this machine: its addresses and origins are replaced by local ones. */

const run = promisify(execFile)

/** Lines about the machine for which a file was written. */
const ELSEWHERE =
  /^(chroot|user|group|uid|gid|daemon|pidfile|log|ca-base|crt-base|errorfile|setenv|nbproc|cpu-map|server-state-\S+)$/
const PROXIES: ReadonlySet<string> = new Set(['frontend', 'backend', 'listen'])
/** Options of bind and server lines that need files or other machines, with the number of words of each. */
const DROPPED: Readonly<Record<string, number>> = {
  ssl: 0,
  crt: 1,
  alpn: 1,
  'ssl-min-ver': 1,
  verify: 1,
  sni: 1,
  'ca-file': 1,
  'check-ssl': 0,
  resolvers: 1,
  'init-addr': 1,
  'send-proxy': 0,
  'send-proxy-v2': 0,
  'accept-proxy': 0,
  inter: 1,
}

function withoutDropped(words: readonly string[]): readonly string[] {
  const kept: string[] = []
  for (let at = 0; at < words.length; at++) {
    const dropped = DROPPED[words[at] ?? '']
    if (dropped === undefined) kept.push(words[at] ?? '')
    else at += dropped
  }
  return kept
}

interface Place {
  readonly section: string
  readonly theirs: number
  readonly ours: number
}

interface Site {
  /** Once for HAProxy and once for Fulcrum, which listen at their own ports. */
  readonly texts: readonly [string, string]
  /** Each listening address, with HAProxy's port and Fulcrum's. */
  readonly places: readonly Place[]
}

/** Adapts a file to this machine; the origin of each backend reports its requests. */
async function siteOf(test: Test, cfg: string): Promise<Site> {
  const [texts, places]: [[string[], string[]], Place[]] = [[[], []], []]
  const add = (theirs: string, ours = theirs) => {
    texts[0].push(theirs)
    texts[1].push(ours)
  }
  let [section, origin]: [string, number | undefined] = ['', undefined]
  const place = async () => {
    const made = { section, theirs: await freePort(), ours: await freePort() }
    places.push(made)
    return made
  }
  for (const { words, text } of linesOf(cfg)) {
    const [word = '', name = '', ...more] = words
    if (PROXIES.has(word)) {
      ;[section, origin] = [name, undefined]
      if (more[0]?.includes(':') !== true) add(text)
      else add(...onOwn(`${word} ${name}`, await place(), more.slice(1)))
    } else if (word === 'bind') add(...onOwn('bind', await place(), more))
    else if (word === 'server') {
      origin ??= await originOf(test, section)
      const options = withoutDropped(more.slice(1)).join(' ')
      add(`server ${name} 127.0.0.1:${origin} ${options.replace(/\bport \d+/, `port ${origin}`)}`)
    } else if (!isOfElsewhere(words, section)) add(text)
  }
  return { texts: [texts[0].join('\n'), texts[1].join('\n')], places }
}

function onOwn(words: string, { theirs, ours }: Place, options: readonly string[]): readonly [string, string] {
  const more = withoutDropped(options).join(' ')
  return [`${words} 127.0.0.1:${theirs} ${more}`, `${words} 127.0.0.1:${ours} ${more}`]
}

const isOfElsewhere = ([word = '', name = '']: readonly string[], section: string): boolean =>
  ELSEWHERE.test(word) || (word === 'stats' && name === 'socket') || (section === '' && word === 'maxconn')

const originOf = (test: Test, name: string): Promise<number> =>
  httpServer(test, ({ url, method, headers }, answer) => {
    const { connection: _connection, ...asked } = headers
    answer.setHeader('server', 'origin')
    answer.end(JSON.stringify({ name, method, url, asked }))
  })

interface Asked {
  readonly path: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
}

/** Requests with the values of its own conditions, and some others. */
function requestsFor(cfg: string): readonly Asked[] {
  const values = new Set(linesOf(cfg).flatMap(({ words }) => (words[0] === 'server' ? [] : words.slice(1))))
  const paths = [...values].filter((value) => /^\/[\w./-]*$/.test(value))
  const hosts = [...values].filter((value) => /^\.?[a-z][\w-]*(\.[\w-]+)+$/i.test(value))
  const get = (path: string, headers: Readonly<Record<string, string>> = {}, method = 'GET') => ({
    path,
    method,
    headers,
  })
  return [
    get('/'),
    get('/some/thing.html?a=b'),
    get('/', { 'x-forwarded-for': '192.0.2.7' }),
    get('/', {}, 'POST'),
    get('/', {}, 'OPTIONS'),
    ...paths.flatMap((path) => [get(path), get(`${path}x/y`), get(path, {}, 'POST')]),
    ...hosts.flatMap((host) => [
      get('/', { host }),
      get('/', { host: host.toUpperCase() }),
      get('/', { host: `x${host}` }),
    ]),
  ]
}

/** The parts of an answer on which both have to agree. */
function ask(port: number, { path, method, headers }: Asked): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const going = request({
      host: '127.0.0.1',
      port,
      path,
      method,
      headers: { host: 'site.test', ...headers },
      agent: false,
    })
    going.on('error', (error) => resolve({ error: Reflect.get(error, 'code') }))
    going.on('response', (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (chunk) => (text += String(chunk)))
      answer.on('error', reject)
      answer.on('end', () => {
        const {
          date: _date,
          connection: _connection,
          'keep-alive': _keep,
          'set-cookie': cookies,
          ...told
        } = answer.headers
        const body: unknown = text.startsWith('{"name"') ? JSON.parse(text) : ''
        const isOurs = body !== ''
        resolve({
          status: answer.statusCode,
          headers: isOurs ? told : { location: told.location },
          cookies: cookies?.map((cookie) => cookie.split('=')[0]),
          body,
        })
      })
    })
    going.end()
  })
}

/** Returns why HAProxy itself refuses the file; undefined when it accepts it. */
async function faultOf(file: string): Promise<string | undefined> {
  return run('haproxy', ['-c', '-f', file]).then(
    () => undefined,
    (error: unknown) => String(Reflect.get(Object(error), 'stderr')),
  )
}

interface Remark {
  readonly line: number
  readonly text: string
  readonly why: string
}

export interface Compared {
  /** Why HAProxy refuses the file; undefined: both were asked. */
  readonly fault: string | undefined
  readonly notUnderstood: readonly Remark[]
  readonly asked: number
  readonly differences: readonly { readonly asked: Asked; readonly original: unknown; readonly imported: unknown }[]
}

/** Runs the file in HAProxy, and its import in the daemon, and sends both the same requests. */
export async function compared(test: Test, daemon: Daemon, cfg: string): Promise<Compared> {
  const { texts, places } = await siteOf(test, cfg)
  const file = join(temporaryFolder(test, 'site'), 'haproxy.cfg')
  writeFileSync(file, `${texts[0]}\n`)
  const fault = await faultOf(file)
  const { document, notUnderstood, remarks } = await daemon.data('POST', '/config/import', { haproxyCfg: texts[1] })
  await become(daemon, document)
  if (fault !== undefined) return { fault, notUnderstood, asked: 0, differences: [] }
  const original = spawn('haproxy', ['-db', '-f', file], { stdio: 'ignore' })
  test.teardown(() => original.kill('SIGKILL'))
  const isIdle = ({ section }: Place) => remarks.some(({ why }: Remark) => why === `${section} balances nothing`)
  const requests = requestsFor(cfg)
  const all: Compared['differences'][number][] = []
  for (const { theirs, ours } of places.filter((place) => !isIdle(place))) {
    await Promise.all([theirs, ours].map(listens))
    for (const asked of requests)
      all.push({ asked, original: await ask(theirs, asked), imported: await ask(ours, asked) })
  }
  original.kill('SIGKILL')
  const differences = all.filter((one) => JSON.stringify(one.original) !== JSON.stringify(one.imported))
  return { fault, notUnderstood, asked: all.length, differences }
}

/** Replaces the previous site: one daemon runs one after another. */
async function become(daemon: Daemon, document: Readonly<Record<string, unknown>>): Promise<void> {
  const whole = { l7Raw: {}, ...document, owner: 'imported' }
  const { planId } = await daemon.data('POST', '/config/plan', { document: whole, prune: true })
  await daemon.data('PUT', `/config/plans/${planId}/apply`)
}

async function listens(port: number): Promise<void> {
  await until('a listener', () => isListening(port), Boolean)
}
