import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import t from 'tap'
import { checkFrom } from '../../../src/health-checks/built-in.ts'
import { checkFiles, SANDBOX_NAME, shellWord, wrapperName } from '../../../src/health-checks/wrapper.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { ownCheck } from '../../fixtures/health-check.ts'

const HOSTILE = [
  "a'b",
  '$(touch x)',
  '`id`',
  '; rm -rf /',
  '"',
  '\\',
  '-rf',
  '!x',
  '*',
  '~',
  '',
  ' ',
  '${IFS}',
  "'\"'\"'",
]

t.test('a shell passes every word unchanged', async (test) => {
  const script = `printf '%s\\n' ${HOSTILE.map(shellWord).join(' ')}`
  for (const shell of ['sh', 'bash']) {
    test.equal(execFileSync(shell, ['-c', script], { encoding: 'utf8' }), `${HOSTILE.join('\n')}\n`)
  }
})

t.test('a wrapper calls the script of its backend in the sandbox, with the values of this backend', async (test) => {
  const folder = temporaryFolder(test, 'checks')
  const values = HOSTILE.map((value, index) => [`p${index}`, value] as const)
  const check = ownCheck('c', {
    parameters: [
      ...values.map(([name]) => ({ name, type: 'string' as const })),
      { name: 'd', type: 'port', default: '8' },
    ],
  })
  const healthCheck = { type: 'script' as const, id: 'c', interval: 3, parameters: Object.fromEntries(values) }
  const files = checkFiles(
    folder,
    [{ id: 'b', healthCheck }],
    checkFrom(() => check),
    () => 'as called',
  )
  test.strictSame(
    files.map(({ name }) => name),
    ['backend-b', 'sandbox', 'script-c'],
  )
  test.equal(files.find(({ name }) => name === 'script-c')?.content, check.script)
  for (const { name, content } of files) writeFileSync(`${folder}/${name}`, content, { mode: 0o755 })
  // Replaces the sandbox and prints its arguments.
  writeFileSync(`${folder}/${SANDBOX_NAME}`, `#!/bin/sh\nprintf '%s\\n' "$@" >${folder}/told\n`)
  chmodSync(`${folder}/${SANDBOX_NAME}`, 0o755)
  execFileSync(`${folder}/${wrapperName('b')}`, ['192.0.2.1', '80', '2001:db8::1', '8080'])
  const told = execFileSync('cat', [`${folder}/told`], { encoding: 'utf8' }).split('\n')
  const flags = values.map(([name, value]) => `--${name}=${value}`)
  const call = ['check', '4', `${folder}/script-c`, '192.0.2.1', '80', '2001:db8::1', '8080']
  test.strictSame(told, [...call, ...flags, '--d=8', ''])
})

t.test('where HAProxy does not know them, the wrapper has address and port of the frontend', async (test) => {
  const healthCheck = { type: 'script' as const, id: 'ping' }
  const files = (port: number | undefined) =>
    checkFiles(
      '/f',
      [{ id: 'b', healthCheck }],
      checkFrom(() => undefined),
      () => ({ ip: '2001:db8::5', port }),
    )
  test.match(files(443)[0]?.content, '/f/script-ping 2001:db8::5 443 "$3" "$4" </dev/null >/dev/null 2>&1\n')
  test.match(files(undefined)[0]?.content, ' 2001:db8::5 0 "$3"')
})

t.test('without a check there is no file', async (test) => {
  const none = checkFiles(
    '/f',
    [{ id: 'b', healthCheck: { type: 'none' } }],
    checkFrom(() => undefined),
    () => 'as called',
  )
  test.strictSame(none, [])
})
