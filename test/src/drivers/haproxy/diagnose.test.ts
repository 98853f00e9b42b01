import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { diagnoseOutput } from '../../../../src/drivers/haproxy/diagnose.ts'
import { renderConfig } from '../../../../src/drivers/haproxy/render.ts'
import { backend, frontend, realServer } from '../../../fixtures/config.ts'
import { PATHS, viewOf } from './records.ts'

const folder = mkdtempSync(join(tmpdir(), 'fulcrum-diagnose-'))
t.teardown(() => rmSync(folder, { recursive: true }))

const view = viewOf({
  realServers: [{ ...realServer('r1'), name: 'web1' }],
  l7Frontends: [frontend('f1', 'b1', { name: 'www' }), frontend('f2', 'b1', { name: 'shop', ports: '81' })],
  l7Backends: [{ ...backend('b1', ['r1']), name: 'pool' }],
})
const diagnose = (output: string) => diagnoseOutput(output, view, PATHS)

/** Output of the real checker for our file with some of its text replaced. */
function checkerOn(...edits: readonly (readonly [string, string])[]): string {
  let text = renderConfig(view, PATHS)
  for (const [from, to] of edits) text = text.replace(from, to)
  const file = join(folder, 'haproxy.cfg.candidate')
  writeFileSync(file, text)
  const { stdout, stderr } = spawnSync('haproxy', ['-c', '-f', file], { encoding: 'utf8' })
  return `${stdout}${stderr}`
}

t.test('each line that the checker refuses is blamed on its record', (t) => {
  const output = checkerOn(
    ['bind 127.0.0.1:8080', 'bind 127.0.0.1:bogus'],
    ['weight 100', 'weight 100 bogus'],
    ['balance roundrobin', 'balance bogus'],
  )
  t.match(diagnose(output), [
    { section: 'l7Frontends', id: 'f1', field: 'ports', message: /bogus/ },
    { section: 'l7Backends', id: 'b1', field: 'balance' },
    { section: 'l7Backends', id: 'b1', field: 'reals.r1', message: /unknown keyword 'bogus'/ },
  ])
  t.notMatch(diagnose(output)[0]?.message, folder, 'our own path means nothing to a user')
  t.end()
})

t.test('a proxy named without a line is found by its id', (t) => {
  const output = checkerOn(['default_backend b1', 'default_backend gone'])
  t.match(diagnose(output), [{ section: 'l7Frontends', id: 'f1', message: /unable to find/ }])
  t.match(diagnose("[ALERT]    (1) : config : backend 'b1' has no server available!"), [
    { section: 'l7Backends', id: 'b1' },
  ])
  t.match(diagnose("[ALERT]    (1) : config : server 'b1/r1' : nothing works"), [
    { id: 'b1', field: 'reals.r1', message: "server 'pool/web1' : nothing works" },
  ])
  t.match(diagnose('[ALERT]    (1) : config : Proxy other: unknown'), [{ section: undefined, id: undefined }])
  t.end()
})

t.test('a port that cannot be bound at a reload', (t) => {
  const lineNumber = renderConfig(view, PATHS).split('\n').indexOf('    bind 127.0.0.1:81') + 1
  const output = [
    '[NOTICE]   (7649) : Reloading HAProxy',
    '[WARNING]  (7652) : CLI : Paused frontend f2.',
    `[ALERT]    (7649) : Binding [/x/haproxy.cfg:${lineNumber}] for frontend f2: cannot bind socket (Address already in use) for [127.0.0.1:81]`,
    '[ALERT]    (7649) : [haproxy.main()] Some protocols failed to start their listeners! Exiting.',
    '[WARNING]  (7649) : Loading failure!',
  ].join('\n')
  t.strictSame(diagnose(output), [
    {
      section: 'l7Frontends',
      id: 'f2',
      field: 'ports',
      message: 'for frontend shop: cannot bind socket (Address already in use) for [127.0.0.1:81]',
    },
  ])
  t.match(diagnose('[ALERT] (7649) : Starting frontend f2: cannot bind socket (Permission denied)'), [
    { id: 'f2', field: 'ports' },
  ])
  t.end()
})

t.test('unknown output is one problem, and so is none', (t) => {
  t.strictSame(diagnose('a\nb\nc\nd'), [{ section: undefined, id: undefined, field: undefined, message: 'b\nc\nd' }])
  t.match(diagnose(''), [{ message: /no reason/ }])
  t.end()
})
