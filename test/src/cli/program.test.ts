import t from 'tap'
import { fulcrum } from '../../fixtures/cli.ts'

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
