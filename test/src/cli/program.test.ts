import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { ADMIN } from '../../fixtures/appliance.ts'
import { cliFixture, fulcrum } from '../../fixtures/cli.ts'

const fixture = cliFixture(t)

t.test('help, versions and what is no command', async (test) => {
  const run = (args: string) => fulcrum(args.split(' '), { HOME: '/nonexistent' })
  test.match(await run('--version'), { exit: 0, out: /^\d+\.\d+\.\d+/ })
  test.match(await run('help'), { exit: 0, out: /Usage: fulcrum .*plan/s })
  test.match(await run('plan --help'), { exit: 0, out: /--take-over/ })
  test.match(await run('plam'), { exit: 1, err: /unknown command 'plam'[^]*Did you mean plan\?/ })
  test.match(await run('pending --frogs'), { exit: 1, err: /unknown option '--frogs'/ })
  test.match(await run('pending'), { exit: 1, err: 'fulcrum: nobody is logged in: fulcrum login https://HOST:9443\n' })
  test.match(await run('pending -c lb9'), { exit: 1, err: /there is no context lb9/ })
})

t.test('what somebody trips over first is one line, and an exit code', async (test) => {
  const { run, call, url, fingerprint } = await fixture(test)
  const failed = async (env: Readonly<Record<string, string>>, why: RegExp, exit = 3) => {
    for (const [args, code] of [
      ['get services', 1],
      ['status', exit],
    ] as const) {
      const said = await run(args, { env })
      test.match(said, { exit: code, out: '', err: /^fulcrum: [^\n]+\n$/ }, args)
      test.match(said.err, why)
    }
  }
  await failed(
    { FULCRUM_URL: 'https://127.0.0.1:1' },
    /https:\/\/127\.0\.0\.1:1 cannot be reached: nobody listens there/,
  )
  await failed({ FULCRUM_URL: 'https://no-such-host.invalid' }, /there is no such host|the name is not resolved/)
  await failed({ FULCRUM_URL: url.replace('https', 'ftp') }, /is not encrypted: say https:\/\/HOST:9443/)
  const another = fingerprint.replace(/^../, (first) => (first === 'FF' ? '00' : 'FF'))
  await failed({ FULCRUM_FINGERPRINT: another }, /shows another certificate than at the login/)
  await failed({ FULCRUM_FINGERPRINT: '' }, /no authority that this machine trusts vouches for/)
  await failed({ FULCRUM_TOKEN: '' }, /FULCRUM_URL is set, and FULCRUM_TOKEN is not/)
  await failed({ FULCRUM_TOKEN: 'nobodys' }, /log in \(UNAUTHENTICATED\)/)
  const { token } = (await call('POST', '/token', { body: ADMIN, token: '' })).json.data
  test.match(await run('get services', { env: { FULCRUM_TOKEN: token } }), { exit: 0 })
  test.equal((await call('DELETE', '/token', { token })).status, 200)
  await failed({ FULCRUM_TOKEN: token }, /The token has expired; log in again \(TOKEN_EXPIRED\)/)
})

t.test('a command whose output nobody reads is finished, and ends with its own code', async (test) => {
  const { env, home } = await fixture(test)
  const file = join(home, 'lb.yaml')
  writeFileSync(file, 'version: 1\nrealServers:\n  web1: { ip: 192.0.2.1, port: 80 }\n')
  const run = async (...args: readonly string[]) => {
    const child = spawn(join(import.meta.dirname, '../../../systemd/fulcrum'), args, {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    child.stdout.destroy()
    const [code] = await once(child, 'close')
    return Number(code)
  }
  test.equal(await run('plan', '-f', file), 2)
  test.equal(await run('apply', '-f', file, '--yes'), 0)
  test.equal(await run('plan', '-f', file), 0)
})
