import { spawnSync } from 'node:child_process'
import { EventEmitter } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import t from 'tap'
import { CLEAR, coloured } from '../../../src/cli/output.ts'
import { processTerminal } from '../../../src/cli/terminal.ts'
import { temporaryFolder } from '../../fixtures/folder.ts'
import { noSmallDisk, smallDisk } from '../../fixtures/small-disk.ts'

function streams(isTTY: boolean) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
  for (const stream of [stdin, stdout, stderr]) Object.assign(stream, { isTTY, columns: 90, rows: 30 })
  const emitter = new EventEmitter()
  return Object.assign(emitter, { stdin, stdout, stderr }) as unknown as Parameters<typeof processTerminal>[0] & {
    stdin: PassThrough
    stdout: PassThrough
    stderr: PassThrough
    emit: EventEmitter['emit']
  }
}
const ENDS = { leave: () => undefined, lose: () => undefined }
const PROGRAM = join(import.meta.dirname, '../../../systemd/fulcrum')

t.test('a terminal asks, and shows no secret', async (test) => {
  const made = streams(true)
  const terminal = processTerminal(made, {}, ENDS)
  test.same([terminal.columns, terminal.rows, terminal.hasColour], [90, 30, true])
  Object.assign(made.stdout, { columns: 0, rows: 0 })
  const serial = processTerminal(made, {}, ENDS)
  test.same([serial.columns, serial.rows], [undefined, undefined], 'a serial console does not know')
  test.equal(processTerminal(made, { NO_COLOR: '1' }, ENDS).hasColour, false)
  const asked = terminal.ask('Password: ', { isSecret: true })
  made.stdin.write('secret\n')
  test.equal(await asked, 'secret')
  test.notMatch(String(made.stderr.read()), 'secret')
})

t.test('foreign text cannot control a terminal, and other outputs get it unchanged', async (test) => {
  const hostile = 'a\u001b[2J\u001b]0;b\u0007\r\u009b2Jc\u007f\u202ed\te\n'
  const harmless = 'a\ufffd[2J\ufffd]0;b\ufffd\ufffd\ufffd2Jc\ufffd\ufffdd\te\n'
  for (const [isTTY, seen] of [
    [true, harmless],
    [false, hostile],
  ] as const) {
    const made = streams(isTTY)
    const terminal = processTerminal(made, {}, ENDS)
    for (const write of ['out', 'data'] as const) {
      terminal[write](hostile)
      test.equal(String(made.stdout.read()), seen, write)
    }
    terminal.err(hostile)
    test.equal(String(made.stderr.read()), seen)
  }
  const made = streams(true)
  const terminal = processTerminal(made, {}, ENDS)
  const own = `${CLEAR}${coloured(terminal, 'red', 'x')}`
  terminal.out(own)
  test.equal(String(made.stdout.read()), own, 'colours and a cleared screen come from this program')
  terminal.data(`${own}\t\n`)
  test.equal(String(made.stdout.read()), '\ufffd[H\ufffd[J\ufffd[31mx\ufffd[0m\t\n', 'and from no other')
  const asked = terminal.ask('Remove \u001b[2J? ')
  made.stdin.write('y\n')
  await asked
  test.notMatch(String(made.stderr.read()), '\u001b[2J')
})

t.test('without a terminal there are no questions, and the input is read', async (test) => {
  const made = streams(false)
  const terminal = processTerminal(made, {}, ENDS)
  test.same([terminal.columns, terminal.rows, terminal.hasColour], [undefined, undefined, false])
  await test.rejects(terminal.ask('E-mail: '), {
    message: 'E-mail has to be typed, but standard input is not a terminal',
  })
  made.stdin.end('version: 1')
  test.equal(await terminal.input('the document'), 'version: 1')
})

t.test('input that is not UTF-8 is refused, unless its reader reports the places', async (test) => {
  const input = async (options?: { readonly isAnyText: boolean }) => {
    const made = streams(false)
    made.stdin.end(Buffer.from('caf\u00e9', 'latin1'))
    return await processTerminal(made, {}, ENDS).input('the document', options)
  }
  await test.rejects(input(), { name: 'Failure', message: 'the document is not UTF-8 text' })
  test.equal(await input({ isAnyText: true }), 'caf\ufffd')
})

t.test('at a terminal the user is told that the input is read, and is asked afterwards', async (test) => {
  const made = streams(true)
  const terminal = processTerminal(made, {}, ENDS)
  const document = terminal.input('the document')
  made.stdin.write('version: 1\nowner:\t')
  made.stdin.write('ann\n\u0004')
  test.equal(await document, 'version: 1\nowner:\tann\n')
  test.match(String(made.stderr.read()), /^Paste the document, then press Ctrl-D on a line of its own\.\r?\n/)
  const asked = terminal.ask('Apply? ')
  made.stdin.write('y\n')
  test.equal(await asked, 'y')
  const interrupted = terminal.input('the document')
  made.stdin.write('version: 1\n\u0003')
  await test.rejects(interrupted, { message: 'interrupted', exitCode: 130 })
})

t.test('a question ends with its answer, and Ctrl-C ends the program again', async (test) => {
  const made = streams(true)
  let left = 0
  const terminal = processTerminal(made, {}, { ...ENDS, leave: () => void (left += 1) })
  const asked = terminal.ask('Apply? ')
  made.stdin.write('y\n')
  test.equal(await asked, 'y')
  made.stderr.read()
  terminal.atCtrlC(() => 'the apply may have gone live')
  made.emit('SIGINT')
  test.equal(left, 1)
  test.equal(String(made.stderr.read()), 'fulcrum: interrupted; the apply may have gone live\n')
  const idle = streams(true)
  processTerminal(idle, {}, ENDS).atCtrlC(() => undefined)
  idle.emit('SIGINT')
  test.equal(String(idle.stderr.read()), 'fulcrum: interrupted\n')
  const watched = streams(true)
  const { interrupted } = processTerminal(watched, {}, { ...ENDS, leave: () => test.fail('a command watches it') })
  watched.emit('SIGINT')
  test.ok(interrupted.aborted)
})

t.test('a reader may stop reading; lost output is reported, once', (test) => {
  const lostBy = (code: string) => {
    const made = streams(false)
    let lost = 0
    const terminal = processTerminal(made, {}, { ...ENDS, lose: () => void (lost += 1) })
    const { interrupted } = terminal
    for (let times = 0; times < 2; times++) made.stdout.emit('error', Object.assign(new Error(`${code}: oh`), { code }))
    made.stderr.emit('error', new Error('nor is this one read'))
    test.ok(interrupted.aborted, 'endless work ends')
    test.doesNotThrow(() => terminal.out('more'))
    return [lost, String(made.stderr.read())]
  }
  test.same(lostBy('EPIPE'), [0, 'null'])
  test.same(lostBy('EIO'), [1, 'fulcrum: the output is lost: EIO: oh\n'])
  test.end()
})

t.test('an output without space is an error', (test) => {
  const written = (path: string, flags: string) => {
    const fd = openSync(path, flags)
    try {
      return spawnSync(PROGRAM, ['--help'], { stdio: ['ignore', fd, 'pipe'], encoding: 'utf8' })
    } finally {
      closeSync(fd)
    }
  }
  const lost = /^fulcrum: the output is lost: [^\n]+\n$/
  test.match(written('/dev/full', 'w'), { status: 1, stderr: lost })
  const path = join(temporaryFolder(test, 'output'), 'help')
  test.match(written(path, 'w'), { status: 0, stderr: '' })
  test.match(readFileSync(path, 'utf8'), /^Usage: fulcrum/)
  test.match(written(path, 'r'), { status: 1, stderr: lost })
  test.end()
})

t.test('an output with space for a part is an error as well', { skip: noSmallDisk }, (test) => {
  const fd = openSync(join(smallDisk(test, 1), 'out'), 'w')
  let [lost, said] = [0, '']
  const made = Object.assign(streams(false), {
    stderr: { write: (text: string) => (said += text), on: () => undefined },
  })
  Object.assign(made.stdout, { fd })
  const terminal = processTerminal(made, {}, { ...ENDS, lose: () => void (lost += 1) })
  for (let times = 0; times < 2; times++) terminal.out('x'.repeat(1_500_000))
  closeSync(fd)
  test.equal(lost, 1)
  test.match(said, /^fulcrum: the output is lost: ENOSPC[^\n]*\n$/)
  test.end()
})
