import t from 'tap'
import { keepingSecondaries } from '../../../../workers/host/network/promotion.ts'

/** A kernel with the settings `values`; writes are recorded in order. */
function settings(values: Readonly<Record<string, string>>, isWritable = true) {
  const written: string[] = []
  const run = async (argv: readonly string[], _timeout_ms: number, options: { readonly input?: string } = {}) => {
    const links = argv.slice(1).map((path) => path.split('/')[6] ?? '')
    if (argv[0] === 'cat') return { exitCode: 0, output: links.map((link) => values[link] ?? '0').join('\n') }
    written.push(`${links[0]}=${options.input}`)
    return { exitCode: isWritable ? 0 : 1, output: '' }
  }
  return { run, written }
}

t.test('the setting is on only during the work', async (test) => {
  const { run, written } = settings({})
  test.equal(await keepingSecondaries(['eth0'], run, 1000, async () => written.join()), 'eth0=1')
  test.same(written, ['eth0=1', 'eth0=0'])
  await test.rejects(
    keepingSecondaries(['eth0'], run, 1000, async () => {
      throw new Error('it failed')
    }),
    /it failed/,
  )
  test.same(written.slice(2), ['eth0=1', 'eth0=0'], 'also when the work fails')
})

t.test('a setting that is on stays as it is, of the interface or of all', async (test) => {
  for (const link of ['eth0', 'all']) {
    const { run, written } = settings({ [link]: '1' })
    await keepingSecondaries(['eth0'], run, 1000, async () => undefined)
    test.same(written, [])
  }
})

t.test('a setting that cannot be written does not prevent the work', async (test) => {
  const { run, written } = settings({}, false)
  test.equal(await keepingSecondaries(['eth0'], run, 1000, async () => 'done'), 'done')
  test.same(written, ['eth0=1'])
})
