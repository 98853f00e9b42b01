import { EventEmitter } from 'node:events'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { processTerminal } from '../../../src/cli/terminal.ts'

function streams(isTTY: boolean) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  for (const stream of [stdin, stdout, stderr]) Object.assign(stream, { isTTY, columns: 90 })
  const emitter = new EventEmitter()
  return Object.assign(emitter, { stdin, stdout, stderr }) as unknown as Parameters<typeof processTerminal>[0] & {
    stdin: PassThrough
  }
}

t.test('a terminal asks, and shows no secret', async (test) => {
  const made = streams(true)
  const terminal = processTerminal(made, {}, () => undefined)
  test.same([terminal.columns, terminal.hasColour], [90, true])
  test.equal(processTerminal(made, { NO_COLOR: '1' }, () => undefined).hasColour, false)
  const asked = terminal.ask('Password: ', { isSecret: true })
  made.stdin.write('secret\n')
  test.equal(await asked, 'secret')
  test.notMatch(String((made.stderr as unknown as PassThrough).read()), 'secret')
})

t.test('without a terminal nobody is asked, and the input is read', async (test) => {
  const made = streams(false)
  const terminal = processTerminal(made, {}, () => undefined)
  test.same([terminal.columns, terminal.hasColour], [undefined, false])
  await test.rejects(terminal.ask('E-mail: '), { message: 'E-mail has to be typed, and this is no terminal' })
  made.stdin.end('version: 1')
  test.equal(await terminal.input(), 'version: 1')
})
