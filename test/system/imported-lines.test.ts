import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { importHaproxyCfg } from '../../src/haproxy-cfg/import.ts'
import { linesOf } from '../../src/haproxy-cfg/lines.ts'

/** FULCRUM_TEST_CFG_FOLDER: files instead of these. */
const FOLDER =
  process.env['FULCRUM_TEST_CFG_FOLDER'] ?? fileURLToPath(new URL('../fixtures/haproxy-cfg', import.meta.url))
/** Lines that only begin a section, and lines that repeat a default. */
const EMPTY = /^(global|defaults|frontend|backend|listen)\b|^mode (http|tcp)$/

/** Returns lines whose removal would change nothing, and which no report names. */
async function lost(cfg: string): Promise<readonly string[]> {
  const shape = async (text: string) => {
    const { document, certificates, notUnderstood, remarks } = await importHaproxyCfg(text)
    return {
      told: new Set([...notUnderstood, ...remarks].map(({ line }) => line)),
      is: JSON.stringify([document, certificates]),
    }
  }
  const { told, is } = await shape(cfg)
  const rows = cfg.split(/\r?\n/)
  const missing: string[] = []
  for (const { number, words, text } of linesOf(cfg)) {
    if (told.has(number) || EMPTY.test(words.join(' '))) continue
    const without = rows.map((row, at) => (at + 1 === number ? '' : row)).join('\n')
    if ((await shape(without)).is === is) missing.push(`${number} ${text}`)
  }
  return missing
}

t.test('each line of a whole file is in the document, or reported', async (test) => {
  for (const name of readdirSync(FOLDER)) test.same(await lost(readFileSync(join(FOLDER, name), 'utf8')), [], name)
})

t.test('a line that vanishes is found', async (test) => {
  const twice =
    'defaults\n mode http\nfrontend f\n bind *:80\n maxconn 5\n maxconn 5\nbackend b\n server s 192.0.2.1:80\n'
  test.same(await lost(twice), ['5 maxconn 5', '6 maxconn 5'])
})

t.test('losses and misreadings that whole files have revealed', async (test) => {
  const why = async (cfg: string, text: string) => {
    const { notUnderstood, remarks } = await importHaproxyCfg(cfg)
    return [...notUnderstood, ...remarks].filter((one) => one.text === text).map((one) => one.why)
  }
  const raw = async (cfg: string) => Object((await importHaproxyCfg(cfg)).document['l7Raw'])
  // A raw line of one of several defaults was only in the first section that took it over.
  const two =
    'defaults\n retries 2\nbackend a\n server s 192.0.2.1:80\nbackend b\n server s 192.0.2.1:80\ndefaults\n mode tcp\n'
  test.match(await raw(two), {
    backends: [
      { id: 'a', lines: ['retries 2'] },
      { id: 'b', lines: ['retries 2'] },
    ],
  })
  const site = 'frontend f\n mode http\n bind *:80\n default_backend b\nbackend b\n mode http\n server s 192.0.2.1:80\n'
  const redirect = 'http-request redirect scheme https unless { ssl_fc }'
  test.match(await why(site.replace(' default', ` ${redirect}\n default`), redirect), [/answers 301, not 302/])
  const permanent = redirect.replace('unless', 'code 301 unless')
  test.same(await why(site.replace(' default', ` ${permanent}\n default`), permanent), [])
  const colon = 'http-request set-header X-A: b'
  test.match(await why(site.replace(' default', ` ${colon}\n default`), colon), [/X-A: is not the name of a header/])
  const of = async (cfg: string, name: string) =>
    Object(Object((await importHaproxyCfg(cfg)).document['l7Frontends'])[name])
  test.equal((await of(`${site} option forwardfor\n`, 'f')).forwardFor, true)
  test.match(await why(`${site} option forwardfor\n`, 'option forwardfor'), [/f adds it to all/])
  test.equal((await of(site, 'f')).forwardFor, false)
  test.match(await of('listen l 192.0.2.1:80 maxconn 9\n', 'l'), {}, 'a word that is not a bind makes no frontend')
  test.match(await of('listen l :25\n server s 192.0.2.2:25\n', 'l'), { ip: '0.0.0.0', ports: '25' })
  const tcp =
    'frontend f\n mode tcp\n bind *:80\n timeout http-request 5s\n default_backend b\nbackend b\n server s 192.0.2.1:80\n'
  test.notOk((await of(tcp, 'f')).timeouts)
  test.match(await why(tcp, 'timeout http-request 5s'), [/in mode http only/])
})
