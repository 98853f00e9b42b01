import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { CHECK_FOLDER } from '../../src/drivers/keepalived/checks.ts'
import { CONFIG_FILE, FALLBACK_PROGRAM, MARKS_FILE } from '../../src/drivers/keepalived/paths.ts'
import type { JournalEntry } from '../../workers/host/recording-host.ts'
import type { Caller } from '../fixtures/appliance.ts'
import { temporaryFolder } from '../fixtures/folder.ts'
import { machineState } from '../contract/node-settings.ts'
import { keepalivedCheck, lacks, nftCheck } from '../fixtures/programs-apart.ts'
import { EVERY, HOSTILE, isTorn, LEADING, LONG, MARK } from './hostile-texts.ts'
import { loggedFixture } from './raw-fixture.ts'
import { type Change, must, texts } from './whole-node.ts'

const ALL = [...HOSTILE, ...LEADING, ...LONG]
const PING_RANGE = '/proc/sys/net/ipv4/ping_group_range'

/** All input for Layer 4: names, addresses, ports, and every check that keepalived makes or starts. */
async function layer4Node(call: Caller): Promise<readonly Change[]> {
  const id = async (path: string, body: unknown): Promise<string> => {
    const { status, text, json } = await call('POST', path, { body })
    if (status !== 201) throw new Error(`POST ${path}: ${text}`)
    return String(json.data.id)
  }
  const real = { name: 'web', ip: '192.0.2.31', port: 8001 }
  const rip = await id('/ipvsDirector/rips', real)
  const own = await id('/healthchecks', {
    name: 'own',
    description: 'Asks',
    script: '#!/bin/sh\nexit 0\n',
    services: ['layer-4'],
    parameters: [{ name: 'word', type: 'string', default: 'a default' }],
  })
  const script = (check: string, parameters: Readonly<Record<string, string>>) => ({
    type: 'script',
    id: check,
    parameters,
  })
  const checks = {
    http: { type: 'http', path: '/health', host: 'health.example', expect: '200-299' },
    https: { type: 'https', path: '/health', host: 'health.example', expect: '200' },
    'http as a script': script('http', { path: '/x', host: 'h.example', expect: '200', text: 'fine' }),
    smtp: script('smtp', { domain: 'lb.example' }),
    dns: script('dns', { name: 'example.org', type: 'MX', answer: '192.0.2.1' }),
    ldap: script('ldap', {}),
    udp: script('udp', { payload: '00ff01', reply: 'abcd' }),
    own: script(own, { word: 'a value' }),
    tcp: { type: 'tcp' },
  }
  const changes: Change[] = [{ name: 'real', method: 'PUT', path: `/ipvsDirector/rips/${rip}`, body: real }]
  for (const [place, [name, healthCheck]] of Object.entries(checks).entries()) {
    const backend = {
      name,
      scheduler: 'wrr',
      persistTimeout: 300,
      persistMask: place % 2 === 0 ? '24' : null,
      reals: [{ ripId: rip, weight: 10 }],
      healthCheck,
      fallback: { ip: '192.0.2.99', port: 8001 },
    }
    const backendId = await id('/ipvsDirector/backends', backend)
    // Several ports are packets with an nftables mark.
    const ports = place % 3 === 0 ? '80' : '80,443,8000-8003'
    const frontend = { name, ip: `198.51.100.${place + 1}`, ports, protocol: 'tcp', forwarding: 'masq', backendId }
    const frontendId = await id('/ipvsDirector/frontends', frontend)
    changes.push({ name, method: 'PUT', path: `/ipvsDirector/backends/${backendId}`, body: backend })
    changes.push({ name, method: 'PUT', path: `/ipvsDirector/frontends/${frontendId}`, body: frontend })
  }
  await must(call, [{ name: 'apply', method: 'PUT', path: '/services/apply', body: {} }])
  return changes
}

/** A statement of keepalived: literal words, a block, or one path in quotes. */
const STATEMENT =
  /^ *(?:[A-Za-z_]+(?: [\w./:@=+,~?&%*;()[\]-]+)*(?: \{)?|\}|(?:misc_path|file|quorum_up|quorum_down) "[\w./: -]+"(?: root root)?)$/

/** Lines of the file that are not a whole statement. */
function tornLines(config: string): readonly string[] {
  const lines = config.split('\n').filter((line) => line !== '')
  const torn = lines.filter((line) => isTorn(line) || (!/^\s*#/.test(line) && !STATEMENT.test(line)))
  const blocks = lines.filter((line) => !/^\s*#/.test(line))
  const depth = blocks.reduce((sum, line) => sum + (line.endsWith('{') ? 1 : line.trim() === '}' ? -1 : 0), 0)
  return depth === 0 ? torn : [...torn, `${depth} blocks stay open`]
}

t.test(
  'injection: whatever a Layer 4 text holds, keepalived.conf and the file for nft keep their structure',
  async (test) => {
    const { call, machine } = await loggedFixture(test)
    const folder = temporaryFolder(test, 'layer4')
    const judges = {
      keepalived: lacks('keepalived') === false,
      nft: lacks('nft') === false && process.getuid?.() === 0,
    }
    const range = readFileSync(PING_RANGE, 'utf8')
    const changes = await layer4Node(call)
    const journal: JournalEntry[] = [...machine.host.journal]
    const files = () => new Map(Object.entries(machineState(journal)).map(([path, content]) => [path, String(content)]))
    const before = files()
    test.match(before.get(CONFIG_FILE), /virtual_server/)
    const rules = (text = '') => text.split('\n').length
    const wrong: string[] = []
    const counts = { taken: 0, refused: 0, applied: 0, judged: 0 }
    const judged = (config: string, marks: string, text: string) => {
      counts.judged += 1
      // The wrappers are where keepalived looks for them, in a folder of this test.
      const scripts = join(folder, 'checks')
      rmSync(scripts, { recursive: true, force: true })
      mkdirSync(scripts)
      for (const [path, content] of files()) {
        if (!path.startsWith(`${CHECK_FOLDER}/`)) continue
        const script = join(scripts, basename(path))
        writeFileSync(script, content)
        chmodSync(script, 0o755)
      }
      const fallback = join(scripts, 'fallback')
      writeFileSync(fallback, files().get(FALLBACK_PROGRAM) ?? '')
      chmodSync(fallback, 0o755)
      writeFileSync(
        join(folder, 'conf'),
        config.replaceAll(CHECK_FOLDER, scripts).replaceAll(FALLBACK_PROGRAM, fallback),
      )
      writeFileSync(join(folder, 'marks'), marks)
      const said = judges.keepalived ? keepalivedCheck(join(folder, 'conf')).lines : []
      if (said.length > 0) wrong.push(`keepalived with ${JSON.stringify(text.slice(0, 40))}: ${said.join('; ')}`)
      const nft = judges.nft ? nftCheck(join(folder, 'marks')) : undefined
      if (nft !== undefined && nft.status !== 0) wrong.push(`nft with ${JSON.stringify(text)}: ${nft.lines.join('; ')}`)
    }
    judged(before.get(CONFIG_FILE) ?? '', before.get(MARKS_FILE) ?? '', 'nothing hostile')
    const dirty = new Set<Change>()
    for (const [index, text] of ALL.entries()) {
      await must(call, [...dirty])
      dirty.clear()
      for (const [number, change] of changes.entries()) {
        let { body } = change
        for (const [place, { at, text: plain }] of [...texts(change.body)].entries()) {
          // A text that is no value itself may be one after a valid prefix: a path begins with a slash.
          for (const [way, value] of [text, `${plain}${text}`].entries()) {
            if ((index + number + place + 2 * way) % EVERY > 0) continue
            const sent = [...texts(body)].find((one) => one.at === at)?.with(value) as typeof body
            const { status, text: answer } = await call(change.method, change.path, { body: sent })
            if (status >= 500) wrong.push(`${change.name} ${at}: ${answer}`)
            if (status >= 300) counts.refused += 1
            else {
              counts.taken += 1
              body = sent
              dirty.add(change)
            }
          }
        }
      }
      const applied = await call('PUT', '/services/apply')
      journal.push(...machine.host.journal.slice(journal.length))
      if (applied.status < 300) counts.applied += 1
      else if (applied.status === 422) await call('DELETE', '/services/pending')
      else wrong.push(`apply of ${JSON.stringify(text.slice(0, 40))}: ${applied.text}`)
      const now = files()
      const [config, marks] = [now.get(CONFIG_FILE) ?? '', now.get(MARKS_FILE) ?? '']
      wrong.push(...tornLines(config).map((line) => `${JSON.stringify(text.slice(0, 40))}: ${line.slice(0, 200)}`))
      if (marks.includes(MARK) || rules(marks) !== rules(before.get(MARKS_FILE)))
        wrong.push(`nft with ${JSON.stringify(text)}`)
      if (index % 2 === 0) judged(config, marks, text)
    }
    test.same([...new Set(wrong)], [])
    test.comment(`${ALL.length} texts: ${JSON.stringify({ ...counts, ...judges })}`)
    test.ok(counts.taken > 500 && counts.applied > ALL.length / 2)
    const words = journal.flatMap((entry) => (entry.verb === 'run' ? entry.argv : []))
    test.ok(words.length > 100, `${words.length} words`)
    test.same(
      words.filter((word) => isTorn(word) || word.includes(MARK)),
      [],
    )
    test.equal(readFileSync(PING_RANGE, 'utf8'), range, 'the checkers changed nothing on this machine')
  },
)
