import { readFileSync } from 'node:fs'
import t from 'tap'
import {
  answerText,
  command,
  infoField,
  parseShowProc,
  quoteWord,
  refusalOf,
  requestLine,
  requestWithPayload,
  toWorker,
} from '../../../../src/drivers/haproxy/cli.ts'

t.test('words are quoted and control characters refused', async (t) => {
  t.equal(quoteWord('a b;c\\d'), 'a\\ b\\;c\\\\d')
  t.throws(() => quoteWord('a\nshow env'))
  t.throws(() => quoteWord(''))
  t.equal(command('set', 'server', 'be/s1', 'state', 'drain'), 'set server be/s1 state drain')
})

t.test('requests', async (t) => {
  t.equal(requestLine('show proc', toWorker('current', 'show stat')), 'show proc; @1 show stat\n')
  t.equal(toWorker({ pid: 77 }, 'show info'), '@!77 show info')
  t.equal(requestWithPayload('set ssl cert x', 'A\r\n\n B\n'), 'set ssl cert x <<\nA\n B\n\n')
})

t.test('answers: without its end an answer is torn, a refusal is a sentence', async (t) => {
  t.equal(answerText('a\nb\n\n'), 'a\nb')
  t.equal(answerText('\n'), '')
  t.equal(answerText('a\nb\n'), undefined)
  t.equal(
    refusalOf("\nCan't find the target PID matching the prefix '@!9'\n"),
    "Can't find the target PID matching the prefix '@!9'",
  )
  t.equal(refusalOf('Name: HAProxy\n'), undefined)
})

t.test('show proc of HAProxy 2.6 with a worker that still drains', async (t) => {
  const text = readFileSync(new URL('../../../fixtures/haproxy-2.6/show-proc-old-worker.txt', import.meta.url), 'utf8')
  t.strictSame(parseShowProc(text), {
    master: { pid: 5576, reloads: 1, failed: 0 },
    workers: [{ pid: 7024, reloads: 0, uptime_s: 0, version: '2.6.12-1+deb12u4' }],
    oldWorkers: [{ pid: 5579, reloads: 1, uptime_s: 300, version: '2.6.12-1+deb12u4' }],
  })
})

t.test('show proc of HAProxy 2.2 has a relative process number', async (t) => {
  const text = [
    '#<PID>          <type>          <relative PID>  <reloads>       <uptime>        <version>      ',
    '12              master          0               2               1d02h03m04s     2.2.9',
    '# workers',
    '15              worker          1               0               0d00h00m09s     2.2.9',
    '# programs',
    '',
  ].join('\n')
  t.strictSame(parseShowProc(text), {
    master: { pid: 12, reloads: 2, failed: 0 },
    workers: [{ pid: 15, reloads: 0, uptime_s: 9, version: '2.2.9' }],
    oldWorkers: [],
  })
})

t.test('show proc after a refused configuration counts it', async (t) => {
  const text = '#<PID> <type> <reloads> <uptime> <version>\n9 master 3 [failed: 1] 0d00h00m09s 2.6.12\n# workers\n'
  t.strictSame(parseShowProc(text), { master: { pid: 9, reloads: 3, failed: 1 }, workers: [], oldWorkers: [] })
  t.equal(parseShowProc('Name: HAProxy\n'), undefined)
})

t.test('a field of show info', async (t) => {
  const info = 'Name: HAProxy\nPid: 77\nCurrConns: 0\nPid_2: 1\n'
  t.strictSame(
    [infoField(info, 'Pid'), infoField(info, 'CurrConns'), infoField(info, 'Nothing')],
    ['77', '0', undefined],
  )
})
