import t from 'tap'
import { collect, countIn, readText, Run, secondsIn } from '../../../src/cli/command.ts'
import { tellApplied } from '../../../src/cli/commands/file.ts'
import { Failure } from '../../../src/cli/failure.ts'
import type { Terminal } from '../../../src/cli/terminal.ts'

t.test('times', (test) => {
  test.same(['90', '90s', '5m', '2h', '7d', '1w'].map(secondsIn), [90, 90, 300, 7200, 604_800, 604_800])
  for (const wrong of ['', '5 m', '-1', '1y', '1.5h'])
    test.throws(() => secondsIn(wrong), { message: `${wrong} is not a duration: use for example 90s, 5m, 2h or 7d` })
  test.end()
})

t.test('counts, repeated options, files', (test) => {
  test.same(
    ['1', '9999'].map((text) => countIn(text, '-n')),
    [1, 9999],
  )
  for (const wrong of ['', '0', '10000', '-1', '1.5', 'x'])
    test.throws(() => countIn(wrong, '-n'), { message: `-n ${wrong} is not a number from 1 to 9999` })
  test.same(collect('b', collect('a')), ['a', 'b'])
  test.match(readText(import.meta.filename), /^import t from 'tap'/)
  test.throws(() => readText('/no/such'), { message: 'there is no file /no/such' })
  test.throws(() => readText('/'), { message: '/ cannot be read: it is a folder' })
  test.end()
})

t.test('without consent nothing is done', async (test) => {
  const asking = (ask: () => Promise<string>) =>
    new Run({ terminal: { ask } as unknown as Terminal, env: {}, sockets: [] })
  const saying = (text: string) => asking(async () => text)
  await saying('Y ').agree('Apply?', false)
  await saying('yes').agree('Apply?', false)
  await saying('').agree('Apply?', true)
  await saying('12').agree('12 go', false, { answer: '12' })
  await test.rejects(saying('').agree('Apply?', undefined), { message: 'nothing was changed' })
  await test.rejects(saying('yes').agree('12 go', false, { answer: '12' }), { message: 'nothing was changed' })
  const nobody = asking(async () => {
    throw new Failure('no terminal')
  })
  await test.rejects(nobody.agree('Apply?', false), { message: 'use --yes when input is not a terminal' })
  await test.rejects(nobody.agree('It?', false, { instead: 'use --it' }), {
    message: 'use --it when input is not a terminal',
  })
})

t.test('messages of the API use the words of this program', (test) => {
  const said: string[] = []
  const run = new Run({
    terminal: { out: (text: string) => said.push(text) } as unknown as Terminal,
    env: {},
    sockets: [],
  })
  run.told({}, 'staged, see GET /services/pending', {})
  const message = 'applied; to discard the others: DELETE /services/pending?mine=true'
  tellApplied(run, { data: { revision: 7 }, message }, {})
  test.same(said, [
    'staged, see fulcrum pending.\n',
    'applied; to discard the others: fulcrum discard --mine. Revision 7 runs.\n',
  ])
  said.length = 0
  const confirmBy = '2001-01-01T00:00:00.000Z'
  tellApplied(run, { data: { revision: 8, confirmBy }, message: 'Applied' }, { confirm: '90s' })
  const left = 'It is reverted in 90 s unless you run: fulcrum confirm\n'
  test.same(said, ['Applied. Revision 8 runs.\n', left], "without a clock time, which may differ from the node's")
  test.end()
})
