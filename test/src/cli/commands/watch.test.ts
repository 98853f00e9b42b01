import { getEventListeners } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { cliFixture } from '../../../fixtures/cli.ts'

const fixture = cliFixture(t)

t.test('events are followed until Ctrl-C', async (test) => {
  const { run, call } = await fixture(test)
  const interrupt = new AbortController()
  const following = run('events -k apply', { interrupted: interrupt.signal })
  await sleep(300)
  await call('POST', '/ipvsDirector/rips', { body: { name: 'web1', ip: '192.0.2.1', port: 80 } })
  await call('PUT', '/services/apply', { body: { comment: 'a\u001b[2Jb' } })
  await sleep(300)
  interrupt.abort()
  const { exit, out } = await following
  test.equal(exit, 0)
  test.match(out, /^\d{4}-\d\d-\d\dT[\d:]+ +\d+ apply state=applied by=admin@localhost .*changes=1/)
  test.notMatch(out, '\u001b', 'text of others moves no cursor')
  test.match(await run('events -k frogs'), { exit: 1, err: /INVALID_QUERY/ })
})

t.test('Ctrl-C ends top, and leaves nobody who waits for it', async (test) => {
  const { run } = await fixture(test)
  const interrupt = new AbortController()
  const listeners = () => getEventListeners(interrupt.signal, 'abort').length
  let shown = 0
  const watching = run('top', {
    interrupted: interrupt.signal,
    said: () => {
      shown += 1
      if (shown === 3) interrupt.abort()
    },
  })
  test.match(await watching, { exit: 0 })
  test.same([shown, listeners()], [3, 0])
})

t.test('the figures of now and of then', async (test) => {
  const { run, call } = await fixture(test)
  await call('POST', '/layer7proxy/frontends', { body: { name: 'shop', mode: 'http', ip: '127.0.0.1', ports: '8097' } })
  await call('PUT', '/services/apply')
  const top = await run('top -n 1')
  test.match(top, { exit: 0, out: /^KIND +NAME +STATUS +SESSIONS +NEW\/S/ })
  test.match(await run('top -n 0'), { exit: 1, err: /-n 0 is no number/ })
  const history = await run('history shop --since 5m', { columns: 80 })
  test.match(history, { exit: 0, out: /^METRIC +LAST 5M +MEAN +MOST\ncurrentSessions / })
  test.match((await run('history shop --since 1m --csv --metrics bytesIn')).out, /^time,bytesIn\n\d+,/)
  for (const since of ['2d', '1w'])
    test.match(await run(`history shop --since ${since}`), { exit: 0, out: /^METRIC +LAST/ })
  test.match(JSON.parse((await run('history shop --json')).out), { metrics: ['currentSessions'] })
  test.match(await run('history nope'), { exit: 1, err: /neither a frontend nor a backend nope/ })
  test.match(await run('history shop --since long'), { exit: 1, err: /long is no duration/ })
})
